// SPDX-License-Identifier: BSD-2-Clause
// Receiving with a continuation.
#include "chan/here.h"

// ---- between AWEs of one thread: who sends, or closes, does what the receiver would do, and ends its wait

void fin_chan_on_cancelled(void *waiter) {
    struct lmp_waiter *w = waiter;
    if (w->at->waiter == w)
        fin_lmp_tell_on(w, -ECANCELED);
}

static ssize_t take_now(struct chan_on *on) {
    struct fin_chan *c = on->chan;
    return on->peek ? fin_chan_peek_now(c, &on->bytes) : fin_chan_take_now(c, on->buffer, on->room);
}

static void waits(struct fin_awe *a, void *waiter) { ((struct lmp_waiter *)waiter)->awe = a; }

static int wait_here(struct chan_on *on, struct fin_chan *c, void *buffer, size_t room, fin_cont *cont, const void *state,
                     size_t size) {
    struct lmp_waiter *w = leave_word(on, c, buffer, room);
    return fin_cont_suspend(FIN_FOR_MESSAGE, cont, state, size, &w->item, waits, w);
}

void fin_chan_on_cancelled_peek(void *waiter) {
    struct lmp_waiter *w = waiter;
    if (w->at->waiter == w)
        fin_lmp_tell_peek(w, -ECANCELED);
}

static int peek_here(struct chan_on *on) {
    struct lmp_waiter *w = leave_word_to_peek(on);
    return fin_cont_suspend(FIN_FOR_MESSAGE, on->kept.cont, on->kept.state, on->kept.size, &w->item, waits, w);
}

void fin_lmp_tell_peek(struct lmp_waiter *w, ssize_t result) {
    struct chan_on *on = (struct chan_on *)((char *)w - offsetof(struct chan_on, wait.lmp));
    if (result == -EAGAIN)
        result = fin_chan_peek_now(on->chan, &on->bytes);
    if (result == -EAGAIN) { // no message: the sender may have gone
        fin_bell_empty(&on->chan->in.ump);
        result = fin_chan_peek_now(on->chan, &on->bytes);
        if (result == -EAGAIN)
            return;
    }
    w->at->waiter = NULL;
    on->peek->peeked(on, w->awe, result);
}

void fin_lmp_tell_on(struct lmp_waiter *w, ssize_t result) {
    struct fin_chan *c = w->on;
    if (result == -EAGAIN) {
        fin_bell_empty(&c->in.ump);
        result = fin_chan_take_now(c, w->buffer, w->size);
        if (result == -EAGAIN)
            return; // it is still to come
    }
    struct fin_runtime *rt = fin_rt(fin_self);
    w->at->waiter = NULL;
    rt->known[FIN_FOR_MESSAGE] += result != -ECANCELED;
    fin_cont_result(w->awe, (int)result);
    fin_schedule_own(rt, w->awe);
    in_give(c); // the next one runs after it
}

// ---- between threads and processes

static FIN_INNER void woken(void *state, int result);
static FIN_INNER void has_looked(void *state, int result);

static int give_and_end(struct chan_on *on, ssize_t result) {
    if (!on->peek || result < 0)
        in_give(on->chan);
    return chan_on_end(on, result);
}

// What was there cannot have gone by right means.
static ssize_t take_there(struct chan_on *on) {
    ssize_t n = take_now(on);
    if (n != -EAGAIN)
        return n;
    on->chan->in.ump.broken = true;
    return -EPROTO;
}

// The block may have been cancelled since the turn came, or room for what was sent: no cancel comes after that.
static int await_here(struct chan_on *on) {
    struct fin_chan *c = on->chan;
    fin_bell_empty(&c->in.ump);
    ssize_t n = fin_cancelled() ? -ECANCELED : take_now(on);
    if (n != -EAGAIN || c->in.ump.watched)
        return give_and_end(on, n != -EAGAIN ? n : -EBUSY);
    c->in.ump.meeting->news = false;
    if (on->peek)
        return peek_here(on);
    return wait_here(on, c, on->buffer, on->room, on->kept.cont, on->kept.state, on->kept.size);
}

// The socket is readable, or the wait is over: who finds that does what the receiver would do (continuations 2.1:
// recognition). A trace is to see that one receive.
static void ended(void *arg, struct fin_awe *a, int result) {
    struct chan_on *on = arg;
    struct fin_runtime *rt = fin_rt(fin_self);
    struct ump_rx *rx = &on->chan->in.ump;
    ssize_t n = result;
    fin_ump_disarm(rx);
    if (result >= 0) {
        n = -EAGAIN;
        if (FIN_LIKELY(!fin_trace_is_on())) {
            fin_bell_hear(rx);
            n = take_now(on);
        }
    }
    if (n == -EAGAIN) {
        fin_cont_instead_of(a, &on->kept, woken, &on, sizeof on);
        fin_cont_done(rt, a, 0);
        return;
    }
    if (on->peek && n >= 0) {
        fin_link_init(&a->link);
        on->peek->peeked(on, a, n); // which says what is recognized
        return;
    }
    rt->known[FIN_FOR_MESSAGE] += n != -ECANCELED && !on->peek;
    fin_cont_done(rt, a, (int)n);
    if (!on->peek || n < 0)
        in_give(on->chan);
}

// The same of one that another thread has woken: it waits with woken(), and its thread finds it in its inbox.
static void known(struct fin_awe *a) {
    struct chan_on *on = *(struct chan_on **)record_of(a)->data;
    int result = record_of(a)->result;
    fin_cont_instead(a, on->kept.cont, on->kept.state, on->kept.size);
    ended(on, a, result);
}

static int sleep_for_ring(struct chan_on *on, uint64_t heard) {
    struct fin_runtime *rt = fin_rt(fin_self);
    rt->known_cont = woken;
    rt->known_fn = known;
    return fin_event_await_message_on(&on->chan->in.ump.meeting->message, heard + 1, &on->wait.sync, woken, &on, sizeof on);
}

static int sleep_there(struct chan_on *on) {
    struct ump_rx *rx = &on->chan->in.ump;
    const struct fin_kept *k = &on->kept;
    return fin_on_readable_then(&on->wait.io, rx->fd, ended, on, k->cont, k->state, k->size);
}

// With the turn, after some looks. -EAGAIN: there may be something after all.
static int sleep_for_message(struct chan_on *on) {
    struct ump_rx *rx = &on->chan->in.ump;
    uint64_t heard = rx->meeting ? fin_event_read(&rx->meeting->message) : 0;
    if (fin_ump_arm(rx))
        fin_ump_barrier();
    int r = -EAGAIN;
    if (fin_ump_arrived(rx))
        ;
    else if (!rx->meeting)
        r = sleep_there(on);
    else if (!__atomic_load_n(&rx->peer->closed, __ATOMIC_ACQUIRE))
        r = sleep_for_ring(on, heard);
    else
        fin_bell_empty(rx);
    fin_ump_disarm(rx);
    return r;
}

// With the turn. As fin_ump_await_message. `looked`: for a while, in vain.
static int await_message(struct chan_on *on, bool looked) {
    struct ump_rx *rx = &on->chan->in.ump;
    if (rx->alone)
        return await_here(on);
    for (;; looked = false) {
        ssize_t n = rx->gone || fin_ump_arrived(rx) ? take_now(on) : -EAGAIN;
        if (n != -EAGAIN || ump_watched(rx))
            return give_and_end(on, n != -EAGAIN ? n : -EBUSY);
        if (!looked && fin_ump_spin_long(rx))
            return give_and_end(on, take_there(on));
        if (on->turns < SPIN_YIELDS && fin_ump_others()) {
            on->turns++;
            return fin_cont_go_on(FIN_FOR_LOOK, has_looked, &on, sizeof on, 0);
        }
        int r = sleep_for_message(on);
        if (r != -EAGAIN)
            return give_and_end(on, r);
    }
}

static FIN_INNER void woken(void *state, int result) {
    struct chan_on *on = *(struct chan_on **)state;
    struct ump_rx *rx = &on->chan->in.ump;
    fin_ump_disarm(rx);
    if (result < 0) {
        give_and_end(on, result);
        return;
    }
    fin_bell_empty(rx);
    await_message(on, false);
}

// The block may have been cancelled meanwhile.
static FIN_INNER void has_looked(void *state, int result) {
    struct chan_on *on = *(struct chan_on **)state;
    (void)result;
    if (fin_cancelled())
        give_and_end(on, -ECANCELED);
    else
        await_message(on, false);
}

static FIN_INNER void has_turn(void *state, int result) {
    const struct chan_on *on = *(struct chan_on **)state;
    if (result < 0) {
        chan_on_end(on, result);
        return;
    }
    in_not_quick(on->chan);
    has_looked(state, 0);
}

int fin_chan_on_receive(struct chan_on *on, bool looked) {
    struct turn *t = &on->chan->in.turn;
    on->turns = 0;
    if (t->shared || t->mutex.locked)
        return fin_mutex_lock_on(&t->mutex, &on->wait.sync, has_turn, &on, sizeof on);
    t->mutex.locked = true;
    in_not_quick(on->chan);
    return await_message(on, looked);
}

// Of an end whose sender is of this thread, which is not shared.
static inline bool in_is_wanted_by_nobody(const struct fin_chan *c) {
    return FIN_LIKELY(c->in.turn.mutex.waiters.first == NULL);
}

// Pre: in_is_wanted_by_nobody. A message that came past the ring breaks nothing.
static inline void give_turn_here(struct fin_chan *c) {
    c->in.turn.mutex.locked = false;
    c->in.quick = true;
}

// A message from another thread or process that comes while looks pay; -EAGAIN: it takes longer, or there is more to it.
static inline ssize_t take_soon(struct fin_chan *c, void *buffer, size_t room) {
    return c->in.quick && fin_ump_spin_long(&c->in.ump) ? fin_chan_try_recv(c, buffer, room) : -EAGAIN;
}

// e: as begin_plain said.
static inline int went_quickly(struct fin_runtime *rt, struct fin_cont_record *e, fin_cont *cont, const void *state,
                               size_t size, int result) {
    return FIN_LIKELY(e && may_call_plain(rt)) ? call_plain(rt, e, cont, state, size, result)
                                               : fin_cont_call(cont, state, size, result);
}

// The fast paths make no call that returns, so they save no register.
static __attribute__((noinline)) int recv_slowly(struct fin_chan *c, void *buffer, size_t size, struct fin_chan_on *storage,
                                                 fin_cont *cont, const void *state, size_t state_size) {
    struct chan_on *on = chan_on_of(storage);
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_cont_record *e = begin_plain(rt, cont, state_size);
    int r = FIN_LIKELY(e != NULL) ? 0 : fin_cont_begin(cont, state_size, true);
    if (r < 0)
        return r;
    ssize_t n = r > 0 ? -ECANCELED : fin_chan_try_recv(c, buffer, size);
    bool looked = c->in.quick;
    if (n == -EAGAIN)
        n = take_soon(c, buffer, size);
    if (n != -EAGAIN)
        return went_quickly(rt, e, cont, state, state_size, (int)n);
    on->chan = c;
    on->buffer = buffer;
    on->room = size;
    on->peek = NULL;
    fin_keep(&on->kept, cont, state, state_size);
    return fin_chan_on_receive(on, looked);
}

int fin_chan_recv_on(struct fin_chan *c, void *buffer, size_t size, struct fin_chan_on *storage, fin_cont *cont,
                     const void *state, size_t state_size) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_cont_record *e = can_wait_here(rt, c, cont, state_size);
    if (FIN_UNLIKELY(!e))
        return recv_slowly(c, buffer, size, storage, cont, state, state_size);
    begin_wait_here(rt, e, c, leave_word(chan_on_of(storage), c, buffer, size), cont, state, state_size);
    fin_cont_leave_to_next(rt, (struct fin_body *)rt->thread.current - 1, FIN_FOR_MESSAGE);
    return 0;
}

// Who waits at the other end with a continuation and has room for the message, which is a line at most, where nothing else
// is to be looked at first, and nobody else wants that end's turn.
static inline struct lmp_waiter *can_hand_over(const struct fin_runtime *rt, const struct fin_chan *c, size_t size) {
    struct lmp_waiter *w = c->out.here ? c->out.ump.meeting->waiter : NULL;
    return FIN_LIKELY(size <= UMP_FIRST && w && lmp_has_continuation(w) && size <= w->size && rt->ticks > 1) &&
                   in_is_wanted_by_nobody(w->on)
               ? w
               : NULL;
}

static __attribute__((noinline)) int send_recv_slowly(struct fin_chan *c, const void *data, size_t size, void *buffer,
                                                      size_t room, struct fin_chan_on *storage, fin_cont *cont,
                                                      const void *state, size_t state_size) {
    struct chan_on *on = chan_on_of(storage);
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_cont_record *e = begin_plain(rt, cont, state_size);
    int r = FIN_LIKELY(e != NULL) ? 0 : fin_cont_begin(cont, state_size, true);
    if (FIN_UNLIKELY(r != 0))
        return r < 0 ? r : fin_cont_go_on(FIN_FOR_TURN, cont, state, state_size, -ECANCELED);
    r = fin_chan_send_now(c, data, size);
    bool looked = c->in.quick;
    ssize_t n = r == 0 ? take_soon(c, buffer, room) : r;
    if (n != -EAGAIN)
        return went_quickly(rt, e, cont, state, state_size, (int)n);
    on->chan = c;
    on->data = data;
    on->size = size;
    on->buffer = buffer;
    on->room = room;
    on->receives = true;
    on->behind = false;
    on->peek = NULL;
    fin_keep(&on->kept, cont, state, state_size);
    return r == 0 ? fin_chan_on_receive(on, looked) : fin_chan_on_send(on);
}

int fin_chan_send_recv_on(struct fin_chan *c, const void *data, size_t size, void *buffer, size_t room,
                          struct fin_chan_on *storage, fin_cont *cont, const void *state, size_t state_size) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_cont_record *e = can_wait_here(rt, c, cont, state_size);
    struct lmp_waiter *to = FIN_LIKELY(e != NULL) ? can_hand_over(rt, c, size) : NULL;
    if (FIN_UNLIKELY(!to))
        return send_recv_slowly(c, data, size, buffer, room, storage, cont, state, state_size);
    struct fin_cont_record *receiver = record_of(to->awe);
    ump_copy_line(to->buffer, data, size);
    receiver->result = (int)size;
    receiver->cancellable = false;
    to->at->waiter = NULL;
    give_turn_here(to->on);
    begin_wait_here(rt, e, c, leave_word(chan_on_of(storage), c, buffer, room), cont, state, state_size);
    rt->ticks--;
    rt->stats.blocks[FIN_FOR_MESSAGE].recognized++; // this one is handed off, that one recognized
    hand_stack((struct fin_body *)rt->thread.current - 1, receiver);
    return 0;
}

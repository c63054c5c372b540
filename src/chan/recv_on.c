// SPDX-License-Identifier: BSD-2-Clause
// Receiving with a continuation.
#include "chan/on.h"

// on.c of I/O
int fin_on_readable(struct fin_on *on, int fd, fin_cont *cont, const void *state, size_t size);

// ---- between AWEs of one thread: who sends, or closes, does what the receiver would do, and ends its wait

static void cancelled(void *waiter) {
    struct lmp_waiter *w = waiter;
    if (w->at->waiter == w)
        fin_lmp_tell_on(w, -ECANCELED);
}

static void waits(struct fin_awe *a, void *waiter) { ((struct lmp_waiter *)waiter)->awe = a; }

// The turn is taken; only this thread knows the waiter.
static struct lmp_waiter *leave_word(struct chan_on *on, struct fin_chan *c, void *buffer, size_t size) {
    struct lmp_waiter *w = &on->wait.lmp;
    w->at = c->in.ump.meeting;
    w->buffer = buffer;
    w->size = size;
    w->on = c;
    w->item.fn = cancelled;
    w->item.arg = w;
    return w->at->waiter = w;
}

static int wait_here(struct chan_on *on, struct fin_chan *c, void *buffer, size_t room, fin_cont *cont, const void *state,
                     size_t size) {
    struct lmp_waiter *w = leave_word(on, c, buffer, room);
    return fin_cont_suspend(FIN_FOR_MESSAGE, cont, state, size, &w->item, waits, w);
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

static void woken(void *state, int result);

static int give_and_end(struct chan_on *on, ssize_t result) {
    in_give(on->chan);
    return chan_on_end(on, result);
}

// What was there cannot have gone by right means.
static ssize_t take_there(struct chan_on *on) {
    ssize_t n = fin_chan_take_now(on->chan, on->buffer, on->room);
    if (n != -EAGAIN)
        return n;
    on->chan->in.ump.broken = true;
    return -EPROTO;
}

static int await_here(struct chan_on *on) {
    struct fin_chan *c = on->chan;
    fin_bell_empty(&c->in.ump);
    ssize_t n = fin_chan_take_now(c, on->buffer, on->room);
    if (n != -EAGAIN || c->in.ump.watched)
        return give_and_end(on, n != -EAGAIN ? n : -EBUSY);
    return wait_here(on, c, on->buffer, on->room, on->cont, on->state, on->state_size);
}

// With the turn. As fin_ump_await_message.
static int await_message(struct chan_on *on) {
    struct fin_chan *c = on->chan;
    struct ump_rx *rx = &c->in.ump;
    if (rx->alone)
        return await_here(on);
    for (;;) {
        ssize_t n = fin_chan_take_now(c, on->buffer, on->room);
        if (n != -EAGAIN || rx->watched)
            return give_and_end(on, n != -EAGAIN ? n : -EBUSY);
        if (fin_ump_spin(rx))
            return give_and_end(on, take_there(on));
        uint64_t heard = rx->meeting ? fin_event_read(&rx->meeting->message) : 0;
        fin_ump_arm(rx);
        fin_ump_barrier();
        bool arrived = fin_ump_arrived(rx), closed = rx->meeting && __atomic_load_n(&rx->peer->closed, __ATOMIC_ACQUIRE);
        if (arrived || closed) {
            fin_ump_disarm(rx);
            if (arrived)
                return give_and_end(on, take_there(on));
            fin_bell_empty(rx);
            continue;
        }
        int r = rx->meeting
                    ? fin_event_await_message_on(&rx->meeting->message, heard + 1, &on->wait.sync, woken, &on, sizeof on)
                    : fin_on_readable(&on->wait.io, rx->fd, woken, &on, sizeof on);
        fin_ump_disarm(rx);
        return give_and_end(on, r);
    }
}

static void woken(void *state, int result) {
    struct chan_on *on = *(struct chan_on **)state;
    struct ump_rx *rx = &on->chan->in.ump;
    fin_ump_disarm(rx);
    if (result < 0) {
        give_and_end(on, result);
        return;
    }
    fin_bell_empty(rx);
    await_message(on);
}

static void has_turn(void *state, int result) {
    struct chan_on *on = *(struct chan_on **)state;
    if (result < 0) {
        chan_on_end(on, result);
        return;
    }
    in_not_quick(on->chan);
    await_message(on);
}

int fin_chan_on_receive(struct chan_on *on) {
    struct turn *t = &on->chan->in.turn;
    if (t->shared || t->mutex.locked)
        return fin_mutex_lock_on(&t->mutex, &on->wait.sync, has_turn, &on, sizeof on);
    t->mutex.locked = true;
    in_not_quick(on->chan);
    return await_message(on);
}

// Nothing has come, nobody has the turn, and the sender is one of this thread.
static inline bool plainly_here(const struct fin_chan *c) {
    const struct ump_rx *rx = &c->in.ump;
    return rx->alone && c->in.quick && !rx->watched && !rx->gone && !rx->peer->closed;
}

static inline void take_turn_here(struct fin_chan *c) {
    c->in.turn.mutex.locked = true;
    c->in.quick = false;
}

int fin_chan_recv_on(struct fin_chan *c, void *buffer, size_t size, struct fin_chan_on *storage, fin_cont *cont,
                     const void *state, size_t state_size) {
    struct chan_on *on = chan_on_of(storage);
    int r = fin_cont_begin(cont, state_size, true);
    if (r < 0)
        return r;
    ssize_t n = r > 0 ? -ECANCELED : fin_chan_try_recv(c, buffer, size);
    if (n != -EAGAIN)
        return fin_cont_call(FIN_FOR_MESSAGE, cont, state, state_size, (int)n);
    if (FIN_LIKELY(plainly_here(c))) {
        take_turn_here(c);
        return wait_here(on, c, buffer, size, cont, state, state_size);
    }
    on->chan = c;
    on->buffer = buffer;
    on->room = size;
    chan_on_keep(on, cont, state, state_size);
    return fin_chan_on_receive(on);
}

// The receiver's AWE, where it waits with a continuation and has been given the message, which nobody else knows yet.
static struct fin_awe *give_message(struct fin_chan *c, const void *data, size_t size) {
    struct lmp_waiter *w = c->out.here ? c->out.ump.meeting->waiter : NULL;
    if (!w || !w->on || size > w->size || size > c->out.most)
        return NULL;
    if (FIN_LIKELY(size <= UMP_FIRST))
        ump_copy_line(w->buffer, data, size);
    else
        memcpy(w->buffer, data, size);
    w->at->waiter = NULL;
    in_give(w->on);
    fin_cont_result(w->awe, (int)size);
    return w->awe;
}

int fin_chan_send_recv_on(struct fin_chan *c, const void *data, size_t size, void *buffer, size_t room,
                          struct fin_chan_on *storage, fin_cont *cont, const void *state, size_t state_size) {
    struct chan_on *on = chan_on_of(storage);
    int r = fin_cont_begin(cont, state_size, true);
    if (r != 0)
        return r < 0 ? r : fin_cont_go_on(FIN_FOR_MESSAGE, cont, state, state_size, -ECANCELED);
    struct fin_awe *to = FIN_LIKELY(plainly_here(c) && ump_look(&c->in.ump) == 0) ? give_message(c, data, size) : NULL;
    if (FIN_LIKELY(to != NULL)) {
        take_turn_here(c);
        struct lmp_waiter *w = leave_word(on, c, buffer, room);
        fin_rt(fin_self)->known[FIN_FOR_MESSAGE]++;
        return fin_cont_suspend_for(FIN_FOR_MESSAGE, cont, state, state_size, &w->item, waits, w, to);
    }
    on->chan = c;
    on->data = data;
    on->size = size;
    on->buffer = buffer;
    on->room = room;
    on->receives = true;
    chan_on_keep(on, cont, state, state_size);
    return fin_chan_on_send(on);
}

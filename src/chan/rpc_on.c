// SPDX-License-Identifier: BSD-2-Clause
// Calls and requests waited for with a continuation: as rpc.c, with the same list of those who wait and the same reader, but
// an AWE that reads, or waits for the reader, has no stack.
#include "chan/here.h"
#include "chan/rpc_on.h"

static FIN_INNER void woken(void *state, int result);
static FIN_INNER void has_read(void *state, int n);

// ---- whose wait another ends

// It goes on with the program's continuation: there is nothing left to do (continuations 2.1: recognition).
static inline void recognized(struct rpc_on *on, struct fin_awe *a, ssize_t n) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_cont_record *e = record_of(a);
    rt->known[FIN_FOR_MESSAGE]++;
    if (FIN_UNLIKELY(e->cont != on->kept.cont))
        fin_cont_instead(a, on->kept.cont, on->kept.state, on->kept.size);
    e->result = (int)n;
    e->cancellable = false;
    fin_schedule_own(rt, a);
}

void fin_rpc_decided_on(struct fin_rpc *r, struct waiting *w) {
    struct fin_awe *a = w->awe;
    w->awe = NULL;
    fin_rpc_unlink(r, w); // who has read reads on, or promotes another
    recognized(w->on, a, w->result);
}

// Of one that reads what another AWE of the thread sends, or what this thread hears of: who sends or hears does what it
// would do.
static void peeked(struct chan_on *chan, struct fin_awe *a, ssize_t n) {
    struct rpc_on *on = (struct rpc_on *)((char *)chan - offsetof(struct rpc_on, chan));
    struct fin_rpc *r = on->rpc;
    r->reading = false;
    if (n >= 0)
        fin_rpc_handle(r, chan->bytes, (size_t)n);
    else
        in_give(r->chan);
    if (n == -ECANCELED)
        on->w.cancelled = true;
    else if (n < 0)
        fin_rpc_end(r, (int)n);
    if (on->w.decided) {
        fin_rpc_unlink(r, &on->w);
        recognized(on, a, on->w.result);
        fin_rpc_promote(r);
    } else if (on->what == ACCEPT && r->next) {
        fin_rpc_unlink(r, &on->w);
        recognized(on, a, fin_rpc_take_request(r, on->w.buffer, on->w.room, on->id));
    } else {
        if (r->next && on->w.id != 0)
            fin_rpc_promote(r);
        else if (r->next && fin_rpc_serve_known(on))
            fin_rt(fin_self)->known[FIN_FOR_MESSAGE]++; // and looks for the next one in its turn
        fin_cont_instead_of(a, &on->kept, woken, &on, sizeof on);
        fin_cont_result(a, 0);
        fin_schedule_own(fin_rt(fin_self), a);
    }
}

static inline struct rpc_on *reader_of(struct lmp_waiter *w) {
    struct chan_on *chan = (struct chan_on *)((char *)w - offsetof(struct chan_on, wait.lmp));
    return (struct rpc_on *)((char *)chan - offsetof(struct rpc_on, chan));
}

static inline void leave_reading(struct lmp_waiter *w, struct rpc_on *on) {
    w->at->waiter = NULL;
    on->rpc->reading = false;
    in_give(on->rpc->chan);
    fin_rpc_unlink(on->rpc, &on->w);
}

static inline void end_reading(struct lmp_waiter *w, struct rpc_on *on) {
    leave_reading(w, on);
    recognized(on, w->awe, on->w.result);
    if (FIN_UNLIKELY(on->rpc->first != NULL))
        fin_rpc_promote(on->rpc);
}

void fin_rpc_reader_decided_on(struct lmp_waiter *w) { end_reading(w, reader_of(w)); }

// The same where it has not gone through the ring.
static bool taken(struct lmp_waiter *w, uint64_t word, const void *data, size_t size) {
    struct rpc_on *on = reader_of(w);
    struct fin_rpc *r = on->rpc;
    if (!fin_rpc_take(r, &on->w, word, data, size) && !(on->what == SERVE && fin_rpc_serve_at_once(on, word, data, size)))
        return false;
    if (!on->w.decided)
        return true;
    if (on->what == ACCEPT)
        *on->id = on->w.request;
    end_reading(w, on);
    return true;
}

static const struct chan_peek peek = {peeked, taken};

// ---- waiting

static void suspended(struct fin_awe *a, void *on) { ((struct rpc_on *)on)->w.awe = a; }

static int wait_for_reader(struct rpc_on *on) {
    on->item.fn = fin_rpc_cancelled;
    on->item.arg = &on->w;
    return fin_cont_suspend(FIN_FOR_MESSAGE, woken, &on, sizeof on, &on->item, suspended, on);
}

static inline void begin_reading(struct rpc_on *on) {
    on->rpc->reading = true;
    on->rpc->reader = &on->w;
    on->chan.chan = on->rpc->chan;
    on->chan.peek = &peek;
}

// Pre: can_wait_here. The stack goes to `next`, if there is one.
static inline __attribute__((always_inline)) void read_here(struct rpc_on *on, struct fin_runtime *rt,
                                                            struct fin_cont_record *e, fin_cont *cont, const void *state,
                                                            size_t size, struct fin_cont_record *next) {
    begin_reading(on);
    begin_wait_here(rt, e, on->chan.chan, leave_word_to_peek(&on->chan), cont, state, size);
    struct fin_body *body = (struct fin_body *)rt->thread.current - 1;
    if (!next) {
        fin_cont_leave_to_next(rt, body, FIN_FOR_MESSAGE);
        return;
    }
    rt->ticks--;
    rt->stats.blocks[FIN_FOR_MESSAGE].handed_off++;
    hand_stack(body, next);
}

static int wait_for_message(struct rpc_on *on) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_cont_record *e = can_wait_here(rt, on->rpc->chan, on->kept.cont, on->kept.size);
    if (FIN_LIKELY(e != NULL))
        read_here(on, rt, e, on->kept.cont, on->kept.state, on->kept.size, NULL);
    begin_reading(on);
    fin_keep(&on->chan.kept, has_read, &on, sizeof on);
    int error = fin_chan_on_receive(&on->chan, false);
    on->rpc->reading = false;
    return error;
}

// A message that is there already. False: none is.
static bool read_one(struct fin_rpc *r) {
    const void *bytes;
    ssize_t n = fin_chan_try_peek(r->chan, &bytes);
    if (n >= 0)
        fin_rpc_handle(r, bytes, (size_t)n);
    else if (n != -EAGAIN)
        fin_rpc_end(r, (int)n);
    return n != -EAGAIN;
}

// Where it has to wait it does not return. The call's result, 0 for a request that is at the head, or why there will be
// none. Pre: it is on the list; it is not afterwards.
static ssize_t await(struct rpc_on *on, int error) {
    struct fin_rpc *r = on->rpc;
    struct waiting *w = &on->w;
    for (unsigned n = 1; !fin_rpc_settled(r, w) && error == 0; n++) {
        bool waits = r->reading || r->head, alone = r->chan->in.ump.alone; // which looks whether a message is there itself
        if (w->cancelled || ((waits || !alone) && fin_cancelled()))
            error = -ECANCELED;
        else if (waits)
            error = wait_for_reader(on);
        else if (n % FLOOD == 0) // what nobody asked for keeps nobody else from running
            error = fin_cont_go_on(FIN_FOR_TURN, woken, &on, sizeof on, 0);
        else if (alone || !read_one(r))
            error = wait_for_message(on);
        else if (r->next && w->id != 0)
            fin_rpc_promote(r);
    }
    fin_rpc_unlink(r, w);
    if (r->first)
        fin_rpc_promote(r);
    return w->decided ? w->result : w->id == 0 && r->next ? 0 : error != 0 ? error : r->end;
}

static FIN_INNER void woken(void *state, int result) {
    (void)result;
    fin_rpc_on_go(*(struct rpc_on **)state, 0);
}

// Bytes that are peeked at, or why there are none.
static FIN_INNER void has_read(void *state, int n) {
    struct rpc_on *on = *(struct rpc_on **)state;
    struct fin_rpc *r = on->rpc;
    bool of_this_wait = fin_bell_of_this_wait(n);
    r->reading = false;
    if (n >= 0)
        fin_rpc_handle(r, on->chan.bytes, (size_t)n);
    else if (!of_this_wait)
        fin_rpc_end(r, n);
    if (r->next && on->w.id != 0)
        fin_rpc_promote(r);
    fin_rpc_on_go(on, of_this_wait ? n : 0);
}

// The quick half of a call and of accepting: there is nothing to do before the running AWE waits for a message of this
// thread, with the program's continuation.
static inline struct fin_cont_record *can_be_reader(const struct fin_runtime *rt, const struct fin_rpc *r, fin_cont *cont,
                                                    size_t size) {
    return fin_rpc_can_read_here(r) ? begin_plain(rt, cont, size) : NULL;
}

static inline struct rpc_on *begin_reader(struct fin_rpc_on *storage, struct fin_rpc *r, void *buffer, size_t room,
                                          enum rpc_what what, fin_cont *cont, const void *state, size_t size) {
    struct rpc_on *on = begin(storage, r, &(struct waiting){.buffer = buffer, .room = room}, cont, state, size);
    on->what = what;
    return on;
}

// ---- calls

static int await_answer(struct rpc_on *on) {
    ssize_t n = fin_rpc_call_await(on->rpc, &on->w);
    if (n != -EAGAIN)
        return finish(on, n);
    fin_rpc_join(on->rpc, &on->w);
    return fin_rpc_on_go(on, 0);
}

static FIN_INNER void has_sent(void *state, int result) {
    struct rpc_on *on = *(struct rpc_on **)state;
    if (result == 0) {
        await_answer(on);
        return;
    }
    fin_rpc_call_end(on->rpc, on->w.id);
    finish(on, result);
}

static int send_on(struct rpc_on *on, uint64_t word, const void *request, size_t size) {
    struct chan_on *chan = &on->chan;
    chan->chan = on->rpc->chan;
    chan->data = request;
    chan->size = size;
    chan->word = word;
    chan->behind = true;
    chan->receives = false;
    fin_keep(&chan->kept, has_sent, &on, sizeof on);
    return fin_chan_on_send(chan);
}

static int not_sent(struct rpc_on *on, uint64_t word, const void *request, size_t size, int error) {
    if (error == -EAGAIN)
        return send_on(on, word, request, size);
    fin_rpc_call_end(on->rpc, on->w.id);
    return finish(on, error);
}

static __attribute__((noinline)) int call_slowly(struct fin_rpc *r, const void *request, size_t size, void *answer,
                                                 size_t room, struct fin_rpc_on *storage, fin_cont *cont,
                                                 const void *state, size_t state_size) {
    struct fin_cont_record *held;
    int begun = fin_cont_begin(cont, state_size, true);
    if (begun < 0)
        return begun;
    uint32_t id = 0;
    int error = begun > 0 ? -ECANCELED : r->end != 0 ? r->end : fin_rpc_call_new(r, &id);
    if (error != 0)
        return fin_cont_call(cont, state, state_size, error);
    struct rpc_on *on =
        begin(storage, r, &(struct waiting){.id = id, .buffer = answer, .room = room}, cont, state, state_size);
    on->what = CALL;
    uint64_t word = (uint64_t)id << 32 | RPC_REQUEST;
    fin_cont_hold(&held); // fin_cont_begin has seen one: a server on this thread is not to take it for the request
    error = fin_chan_send_behind_now(r->chan, word, request, size);
    fin_cont_let_go(held);
    return error == 0 ? await_answer(on) : not_sent(on, word, request, size, error);
}

// Who accepts at the other end without a stack, has room for such a request, and can be given the stack here and now; or
// NULL.
static inline struct lmp_waiter *can_hand_over(const struct fin_runtime *rt, const struct fin_chan *c, size_t size) {
    struct lmp_waiter *to = c->out.here ? c->out.ump.meeting->waiter : NULL;
    if (!to || to->on != FIN_LMP_PEEKS || size > c->out.most - sizeof(uint64_t) || rt->ticks <= 1)
        return NULL;
    const struct rpc_on *on = reader_of(to);
    if (!fin_rpc_wants(on->rpc, &on->w, size))
        return NULL;
    bool plain = fin_state(to->awe) == (rt->tag | FIN_AWE_BUSY | FIN_AWE_EXPLICIT) &&
                 record_of(to->awe)->cont == on->kept.cont; // the program's
    return FIN_LIKELY(plain) ? to : NULL;
}

static inline struct fin_cont_record *hand_request(struct fin_runtime *rt, struct lmp_waiter *to, uint32_t id,
                                                   const void *request, size_t size) {
    struct rpc_on *on = reader_of(to);
    struct fin_cont_record *e = record_of(to->awe);
    fin_rpc_give(&on->w, request, size);
    *on->id = id;
    leave_reading(to, on);
    if (FIN_UNLIKELY(on->rpc->first != NULL))
        fin_rpc_promote(on->rpc);
    rt->known[FIN_FOR_MESSAGE]++;
    e->result = (int)size;
    e->cancellable = false;
    return e;
}

int fin_rpc_call_on(struct fin_rpc *r, const void *request, size_t size, void *answer, size_t room,
                    struct fin_rpc_on *storage, fin_cont *cont, const void *state, size_t state_size) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_cont_record *e = can_be_reader(rt, r, cont, state_size);
    if (FIN_UNLIKELY(!e || r->free == r->count))
        return call_slowly(r, request, size, answer, room, storage, cont, state, state_size);
    struct rpc_on *on = begin_reader(storage, r, answer, room, CALL, cont, state, state_size);
    fin_rpc_call_begin(r, &on->w);
    uint64_t word = (uint64_t)on->w.id << 32 | RPC_REQUEST;
    struct lmp_waiter *to = can_hand_over(rt, r->chan, size);
    struct fin_cont_record *next = to ? hand_request(rt, to, on->w.id, request, size) : NULL;
    int error = next ? 0 : fin_chan_send_behind_now(r->chan, word, request, size);
    if (FIN_UNLIKELY(error != 0)) {
        fin_rpc_call_leave(r, on->w.id);
        return not_sent(on, word, request, size, error);
    }
    fin_rpc_join(r, &on->w);
    read_here(on, rt, e, cont, state, state_size, next);
    return 0;
}

int fin_rpc_recv_on(struct fin_rpc *r, uint32_t id, void *answer, size_t room, struct fin_rpc_on *storage, fin_cont *cont,
                    const void *state, size_t state_size) {
    int error = fin_cont_may_wait(cont, state, state_size);
    if (error)
        return error;
    const struct waiting w = {.id = id, .buffer = answer, .room = room, .keep = true};
    struct rpc_on *on = begin(storage, r, &w, cont, state, state_size);
    on->what = RECV;
    return await_answer(on);
}

// ---- requests

static __attribute__((noinline)) int accept_slowly(struct fin_rpc *r, void *request, size_t room, uint32_t *id,
                                                   struct fin_rpc_on *storage, fin_cont *cont, const void *state,
                                                   size_t state_size) {
    int error = fin_cont_may_wait(cont, state, state_size);
    if (error)
        return error;
    struct rpc_on *on = begin(storage, r, &(struct waiting){.buffer = request, .room = room}, cont, state, state_size);
    on->what = ACCEPT;
    on->id = id;
    fin_rpc_join(r, &on->w);
    return fin_rpc_on_go(on, 0);
}

int fin_rpc_accept_on(struct fin_rpc *r, void *request, size_t room, uint32_t *id, struct fin_rpc_on *storage,
                      fin_cont *cont, const void *state, size_t state_size) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_cont_record *e = can_be_reader(rt, r, cont, state_size);
    if (FIN_UNLIKELY(!e))
        return accept_slowly(r, request, room, id, storage, cont, state, state_size);
    struct rpc_on *on = begin_reader(storage, r, request, room, ACCEPT, cont, state, state_size);
    on->id = id;
    fin_rpc_join(r, &on->w);
    read_here(on, rt, e, cont, state, state_size, NULL);
    return 0;
}

int fin_rpc_on_go(struct rpc_on *on, int error) {
    struct fin_rpc *r = on->rpc;
    struct waiting *w = &on->w;
    for (unsigned turn = 1;; turn++) {
        ssize_t n = await(on, error);
        if (w->id != 0 && !w->decided)
            fin_rpc_call_leave(r, w->id);
        if (on->what == CALL && !w->decided)
            fin_rpc_forget(r, w->id);
        if (on->what != SERVE)
            return finish(on, on->what == ACCEPT && n == 0 ? fin_rpc_take_request(r, w->buffer, w->room, on->id) : n);
        int next = fin_rpc_serve_next(on, n, turn);
        if (next <= 0)
            return next;
        fin_rpc_join(r, w);
    }
}

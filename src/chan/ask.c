// SPDX-License-Identifier: BSD-2-Clause
// Calls, requests that are accepted, and replies, waited for with stacks. Each has a quick half between AWEs of one thread,
// past the ring and past what several AWEs at one end need: a request goes to who waits for one, and the processor with it
// (as in fin_chan_send_recv); an answer goes to who waits for it, who is put on the run queue. (models/handover.pml)
#include "chan/rpc.h"

static FIN_BLOCKING int send_word(struct fin_rpc *r, uint32_t id, uint32_t kind, const void *data, size_t size, bool nc) {
    return fin_chan_send_behind(r->chan, (uint64_t)id << 32 | kind, data, size, nc);
}

static FIN_BLOCKING ssize_t wait_for(struct fin_rpc *r, struct waiting *w, bool nc) {
    fin_rpc_join(r, w);
    return fin_rpc_go_on_waiting(r, w, 0, nc);
}

// ---- the quick half: what is sent

// Who reads at the other end, and would take a message of that size as it is; or NULL.
static inline struct lmp_waiter *reads_there(const struct fin_chan *c, size_t size) {
    struct lmp_waiter *to = c->out.here ? c->out.ump.meeting->waiter : NULL;
    return to && lmp_takes(to) && FIN_LIKELY(size <= c->out.most - sizeof(uint64_t)) ? to : NULL;
}

// The same where it waits for such a request with its stack, and can go on here and now, while this one waits.
static inline struct lmp_waiter *can_hand_over(const struct fin_runtime *rt, const struct fin_chan *c, size_t size) {
    struct lmp_waiter *to = reads_there(c, size);
    if (!to || to->on != FIN_LMP_TAKES || !fin_may_hand_over(rt, to->awe))
        return NULL;
    const struct fin_rpc *server = to->arg;
    return FIN_LIKELY(fin_rpc_wants(server, server->reader, size)) ? to : NULL;
}

static inline void hand_request(struct lmp_waiter *to, uint32_t id, const void *request, size_t size) {
    struct waiting *w = ((struct fin_rpc *)to->arg)->reader;
    fin_rpc_give(w, request, size);
    w->request = id;
    to->at->waiter = NULL;
    to->result = 0;
}

// Who reads there, if that one waits for this answer, and has room; or NULL: there is more to it.
static inline struct lmp_waiter *wants_answer(const struct fin_chan *c, uint32_t id, size_t size) {
    struct lmp_waiter *to = reads_there(c, size);
    const struct waiting *w = to ? ((struct fin_rpc *)to->arg)->reader : NULL;
    return w && FIN_LIKELY(id != 0 && id == w->id && size <= w->room && size <= FIN_RPC_LINE) ? to : NULL;
}

static inline void give_answer(const struct lmp_waiter *to, uint32_t id, const void *answer, size_t size) {
    struct fin_rpc *caller = to->arg;
    fin_rpc_give(caller->reader, answer, size);
    fin_rpc_put_back(caller, &caller->calls[fin_rpc_index(id)]);
}

static inline bool answer_here(const struct fin_chan *c, uint32_t id, const void *answer, size_t size) {
    struct lmp_waiter *to = wants_answer(c, id, size);
    if (!to)
        return false;
    give_answer(to, id, answer, size);
    if (FIN_UNLIKELY(to->on != FIN_LMP_TAKES)) {
        fin_rpc_reader_decided_on(to);
        return true;
    }
    to->at->waiter = NULL;
    to->result = 0;
    fin_schedule_own(fin_rt(fin_self), to->awe);
    return true;
}

// ---- the quick half: who waits

// Is there nothing to do before this AWE waits as the reader? *block: whose cancel is to end that, or NULL.
static inline bool can_wait_at_once(const struct fin_runtime *rt, const struct fin_rpc *r, bool nc,
                                    struct fin_finish_block **block) {
    *block = rt && !nc ? cancellable_here(rt) : NULL;
    return FIN_LIKELY(*block || (nc && rt)) && fin_rpc_can_read_here(r);
}

static inline FIN_BLOCKING ssize_t has_read(struct fin_rpc *r, struct waiting *w, struct lmp_waiter *reads, bool nc) {
    ssize_t n = fin_rpc_end_reading(r, reads);
    if (FIN_UNLIKELY(!w->decided))
        return fin_rpc_go_on_waiting(r, w, n == -EAGAIN ? 0 : n, nc);
    fin_rpc_leave(r, w);
    return w->result;
}

#define QUICK static inline __attribute__((always_inline)) FIN_BLOCKING
#define SLOW static FIN_BLOCKING __attribute__((noinline))

// ---- calls

static FIN_BLOCKING int send_request(struct fin_rpc *r, const void *request, size_t size, uint32_t *id, bool nc) {
    if (FIN_UNLIKELY(r->end != 0))
        return r->end;
    int error = fin_rpc_call_new(r, id);
    if (error == 0) {
        error = send_word(r, *id, RPC_REQUEST, request, size, nc);
        if (error != 0)
            fin_rpc_call_end(r, *id);
    }
    return error;
}

int fin_rpc_send(struct fin_rpc *r, const void *request, size_t size, uint32_t *id) {
    return cancelled_here() ? -ECANCELED : send_request(r, request, size, id, false);
}

int fin_rpc_send_nc(struct fin_rpc *r, const void *request, size_t size, uint32_t *id) {
    return send_request(r, request, size, id, true);
}

// `keep`: an answer for which there is no room stays.
static FIN_BLOCKING ssize_t recv_answer(struct fin_rpc *r, uint32_t id, void *answer, size_t room, bool keep, bool nc) {
    struct waiting w = {.id = id, .buffer = answer, .room = room, .keep = keep};
    ssize_t n = fin_rpc_call_await(r, &w);
    if (n != -EAGAIN)
        return n;
    n = wait_for(r, &w, nc);
    if (!w.decided)
        fin_rpc_call_leave(r, id);
    return n;
}

ssize_t fin_rpc_recv(struct fin_rpc *r, uint32_t id, void *answer, size_t room) {
    return cancelled_here() ? -ECANCELED : recv_answer(r, id, answer, room, true, false);
}

ssize_t fin_rpc_recv_nc(struct fin_rpc *r, uint32_t id, void *answer, size_t room) {
    return recv_answer(r, id, answer, room, true, true);
}

SLOW ssize_t call_slowly(struct fin_rpc *r, const void *request, size_t size, void *answer, size_t room, bool nc) {
    uint32_t id;
    if (!nc && cancelled_here())
        return -ECANCELED;
    ssize_t n = send_request(r, request, size, &id, nc);
    if (n != 0)
        return n;
    n = recv_answer(r, id, answer, room, false, nc);
    if (n < 0)
        fin_rpc_forget(r, id); // where it is still a call: its answer may come
    return n;
}

static __attribute__((noinline)) void give_up(struct fin_rpc *r, uint32_t id) {
    fin_rpc_call_leave(r, id);
    fin_rpc_forget(r, id);
}

QUICK ssize_t call(struct fin_rpc *r, const void *request, size_t size, void *answer, size_t room, bool nc) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_finish_block *block;
    bool can = can_wait_at_once(rt, r, nc, &block) && FIN_LIKELY(r->free != r->count);
    struct lmp_waiter *to = can ? can_hand_over(rt, r->chan, size) : NULL;
    if (FIN_UNLIKELY(!to))
        return call_slowly(r, request, size, answer, room, nc);
    struct waiting w = {.buffer = answer, .room = room};
    struct lmp_waiter reads;
    FIN_AWE_HERE_(a);
    fin_rpc_call_begin(r, &w);
    hand_request(to, w.id, request, size);
    fin_rpc_join(r, &w);
    fin_rpc_begin_reading(r, &w, &reads, block);
    rt->stats.blocks[FIN_FOR_MESSAGE].with_stack++;
    fin_hand_over(rt, a, &reads.awe, to->awe);
    ssize_t n = has_read(r, &w, &reads, nc);
    if (FIN_UNLIKELY(!w.decided))
        give_up(r, w.id);
    return n;
}

FIN_ARCH_RETURNS_BY_JUMP ssize_t fin_rpc_call(struct fin_rpc *r, const void *request, size_t size, void *answer,
                                              size_t room) {
    return call(r, request, size, answer, room, false);
}

FIN_ARCH_RETURNS_BY_JUMP ssize_t fin_rpc_call_nc(struct fin_rpc *r, const void *request, size_t size, void *answer,
                                                 size_t room) {
    return call(r, request, size, answer, room, true);
}

// ---- requests

SLOW ssize_t await_request_slowly(struct fin_rpc *r, struct waiting *w, bool nc) {
    if (!nc && cancelled_here())
        return -ECANCELED;
    return r->next ? 0 : r->end != 0 ? r->end : wait_for(r, w, nc);
}

QUICK ssize_t await_request(struct fin_rpc *r, struct waiting *w, bool nc) {
    struct fin_finish_block *block;
    if (FIN_UNLIKELY(!can_wait_at_once(fin_rt(fin_self), r, nc, &block)))
        return await_request_slowly(r, w, nc);
    struct lmp_waiter reads;
    fin_rpc_join(r, w);
    fin_rpc_begin_reading(r, w, &reads, block);
    lmp_stop(&reads);
    return has_read(r, w, &reads, nc);
}

FIN_ARCH_RETURNS_BY_JUMP ssize_t fin_rpc_await_request(struct fin_rpc *r, struct waiting *w, bool nc) {
    return await_request(r, w, nc);
}

SLOW ssize_t accept_head(struct fin_rpc *r, struct waiting *w, ssize_t n, uint32_t *id, bool nc) {
    while (n >= 0 && !w->decided && !r->next) // another one has taken it before this one ran
        n = await_request_slowly(r, w, nc);
    if (!w->decided)
        return n < 0 ? n : fin_rpc_take_request(r, w->buffer, w->room, id);
    *id = w->request;
    return n;
}

QUICK ssize_t accepted(struct fin_rpc *r, struct waiting *w, ssize_t n, uint32_t *id, bool nc) {
    if (FIN_UNLIKELY(!w->decided))
        return accept_head(r, w, n, id, nc);
    *id = w->request;
    return n;
}

QUICK ssize_t accept(struct fin_rpc *r, void *request, size_t room, uint32_t *id, bool nc) {
    struct waiting w = {.id = 0, .buffer = request, .room = room};
    ssize_t n = await_request(r, &w, nc);
    return accepted(r, &w, n, id, nc);
}

FIN_ARCH_RETURNS_BY_JUMP ssize_t fin_rpc_accept(struct fin_rpc *r, void *request, size_t room, uint32_t *id) {
    return accept(r, request, room, id, false);
}

FIN_ARCH_RETURNS_BY_JUMP ssize_t fin_rpc_accept_nc(struct fin_rpc *r, void *request, size_t room, uint32_t *id) {
    return accept(r, request, room, id, true);
}

// ---- replies

QUICK int reply(struct fin_rpc *r, uint32_t id, const void *answer, size_t size, bool nc) {
    if (!nc && FIN_UNLIKELY(cancelled_here()))
        return -ECANCELED;
    return FIN_LIKELY(answer_here(r->chan, id, answer, size)) ? 0 : send_word(r, id, RPC_ANSWER, answer, size, nc);
}

int fin_rpc_reply(struct fin_rpc *r, uint32_t id, const void *answer, size_t size) {
    return reply(r, id, answer, size, false);
}

int fin_rpc_reply_nc(struct fin_rpc *r, uint32_t id, const void *answer, size_t size) {
    return reply(r, id, answer, size, true);
}

// ---- a reply, and the next request

SLOW ssize_t reply_accept_slowly(struct fin_rpc *r, const void *answer, size_t size, void *request, size_t room,
                                 uint32_t *id, bool nc) {
    int error = reply(r, *id, answer, size, nc);
    if (error != 0)
        return error;
    *id = 0;
    return accept(r, request, room, id, nc);
}

// The processor goes to the caller with the answer, where that is what it waits for.
QUICK ssize_t reply_accept(struct fin_rpc *r, const void *answer, size_t size, void *request, size_t room, uint32_t *id,
                           bool nc) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_finish_block *block;
    struct lmp_waiter *to = can_wait_at_once(rt, r, nc, &block) ? wants_answer(r->chan, *id, size) : NULL;
    if (FIN_UNLIKELY(!to || to->on != FIN_LMP_TAKES || !fin_may_hand_over(rt, to->awe)))
        return reply_accept_slowly(r, answer, size, request, room, id, nc);
    struct waiting w = {.id = 0, .buffer = request, .room = room};
    struct lmp_waiter reads;
    FIN_AWE_HERE_(a);
    give_answer(to, *id, answer, size);
    *id = 0;
    to->at->waiter = NULL;
    to->result = 0;
    fin_rpc_join(r, &w);
    fin_rpc_begin_reading(r, &w, &reads, block);
    rt->stats.blocks[FIN_FOR_MESSAGE].with_stack++;
    fin_hand_over(rt, a, &reads.awe, to->awe);
    ssize_t n = has_read(r, &w, &reads, nc);
    return accepted(r, &w, n, id, nc);
}

FIN_ARCH_RETURNS_BY_JUMP ssize_t fin_rpc_reply_accept(struct fin_rpc *r, const void *answer, size_t size, void *request,
                                                      size_t room, uint32_t *id) {
    return reply_accept(r, answer, size, request, room, id, false);
}

FIN_ARCH_RETURNS_BY_JUMP ssize_t fin_rpc_reply_accept_nc(struct fin_rpc *r, const void *answer, size_t size, void *request,
                                                         size_t room, uint32_t *id) {
    return reply_accept(r, answer, size, request, room, id, true);
}

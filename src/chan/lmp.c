// SPDX-License-Identifier: BSD-2-Clause
// See lmp.h. (models/handover.pml)
#include "chan/lmp.h"

#include "core/dispatch.h"

void fin_lmp_wake(struct meeting *m) {
    m->news = true;
    struct lmp_waiter *w = m->waiter;
    if (w && w->on == FIN_LMP_PEEKS)
        fin_lmp_tell_peek(w, -EAGAIN);
    else if (w)
        fin_lmp_go_on(w, -EAGAIN);
}

void fin_lmp_arrived(struct ump_tx *tx) { fin_lmp_wake(tx->meeting); }

// Not where it is on the run queue already: it has its message.
void fin_lmp_cancelled(void *waiter) {
    struct lmp_waiter *w = waiter;
    if (w->at->waiter == w)
        fin_lmp_go_on(w, -ECANCELED);
}

static inline void wait_at(struct fin_runtime *rt, struct lmp_waiter *w, struct meeting *at, void *buffer, size_t size,
                           bool nc) {
    lmp_wait_in(nc ? NULL : with_list(written_block(rt->thread.current)), w, at, buffer, size);
}

// There may be a message in the ring, or the end. A trace may have begun meanwhile.
static FIN_BLOCKING __attribute__((noinline)) ssize_t recv_after_all(struct fin_chan *c, const struct lmp_waiter *w,
                                                                     bool nc) {
    if (FIN_UNLIKELY(fin_trace_is_on()))
        in_not_quick(c);
    return fin_chan_recv_there(c, w->buffer, w->size, nc);
}

static FIN_BLOCKING FIN_ARCH_RETURNS_BY_JUMP __attribute__((noinline)) ssize_t recv_waiting(struct fin_chan *c, void *buffer,
                                                                                            size_t size, bool nc) {
    struct lmp_waiter w;
    lmp_begin(c);
    wait_at(fin_here(), &w, c->in.ump.meeting, buffer, size, nc);
    lmp_stop(&w);
    ssize_t n = lmp_end(c, &w);
    return FIN_LIKELY(n != -EAGAIN) ? n : recv_after_all(c, &w, !w.item.fn);
}

static inline bool is_plain(const struct fin_chan *c) {
    const struct ump_rx *rx = &c->in.ump;
    return FIN_LIKELY(c->in.quick && !rx->watched && !rx->meeting->news);
}

// The same, of an end whose sender is on this thread, after a look at what news there is.
static __attribute__((noinline)) bool is_plain_after_all(struct fin_chan *c) {
    struct ump_rx *rx = &c->in.ump;
    if (c->in.quick && !rx->watched)
        rx->meeting->news = ump_look(rx) != 0 || rx->gone || rx->peer->closed;
    return is_plain(c);
}

static FIN_BLOCKING __attribute__((noinline)) ssize_t recv_slowly(struct fin_chan *c, void *buffer, size_t size, bool nc) {
    return (is_plain_after_all(c) ? recv_waiting : fin_chan_recv_there)(c, buffer, size, nc);
}

ssize_t fin_lmp_recv(struct fin_chan *c, void *buffer, size_t size, bool nc) {
    return is_plain(c) ? recv_waiting(c, buffer, size, nc) : recv_slowly(c, buffer, size, nc);
}

bool fin_lmp_is_plain(struct fin_chan *c) { return c->in.ump.alone && (is_plain(c) || is_plain_after_all(c)); }

int fin_lmp_await(struct ump_rx *rx, bool nc) {
    struct lmp_waiter w;
    if (!nc && cancelled_here())
        return -ECANCELED;
    wait_at(fin_here(), &w, rx->meeting, NULL, 0, nc);
    w.on = FIN_LMP_LOOKS;
    lmp_stop(&w);
    return lmp_left(&w) == -ECANCELED ? -ECANCELED : 0;
}

// ---- a message, and the stack with it, to an AWE that waits; then this one waits for the next (continuations 3.3)

// Who waits for such a message and can go on here and now, while this one waits for the answer, or NULL. The run queue has
// its turn all the same, whenever it is time to look for events.
static inline struct lmp_waiter *can_go_on(const struct fin_runtime *rt, const struct fin_chan *c, size_t size) {
    struct lmp_waiter *to = rt && c->out.here ? c->out.ump.meeting->waiter : NULL;
    bool fits = to && !to->on && size <= to->size && (FIN_LIKELY(size <= UMP_FIRST) || size <= c->out.most);
    return fits && fin_may_hand_over(rt, to->awe) && is_plain(c) ? to : NULL;
}

static FIN_BLOCKING __attribute__((noinline)) ssize_t send_then_recv(struct fin_chan *c, const void *data, size_t size,
                                                                     void *buffer, size_t room, bool nc) {
    int r = nc ? fin_chan_send_nc(c, data, size) : fin_chan_send(c, data, size);
    return r != 0 ? r : nc ? fin_chan_recv_nc(c, buffer, room) : fin_chan_recv(c, buffer, room);
}

// Without the first way both go the other, which also says whether the block has been cancelled.
#define SEND_RECV static inline __attribute__((always_inline)) FIN_BLOCKING ssize_t
SEND_RECV send_recv(struct fin_chan *c, const void *data, size_t size, void *buffer, size_t room, bool nc) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_finish_block *block = rt && !nc ? cancellable_here(rt) : NULL;
    struct lmp_waiter *to = block || nc ? can_go_on(rt, c, size) : NULL;
    if (FIN_UNLIKELY(!to))
        return send_then_recv(c, data, size, buffer, room, nc);
    struct lmp_waiter w;
    FIN_AWE_HERE_(a);
    lmp_begin(c);
    lmp_wait_in(block, &w, c->in.ump.meeting, buffer, room);
    fin_lmp_put(to, data, size);
    c->out.ump.meeting->waiter = NULL;
    rt->stats.blocks[FIN_FOR_MESSAGE].with_stack++;
    fin_hand_over(rt, a, &w.awe, to->awe);
    ssize_t n = lmp_end(c, &w);
    return FIN_LIKELY(n != -EAGAIN) ? n : recv_after_all(c, &w, nc);
}

FIN_ARCH_RETURNS_BY_JUMP ssize_t fin_chan_send_recv(struct fin_chan *c, const void *data, size_t size, void *buffer,
                                                    size_t room) {
    return send_recv(c, data, size, buffer, room, false);
}

FIN_ARCH_RETURNS_BY_JUMP ssize_t fin_chan_send_recv_nc(struct fin_chan *c, const void *data, size_t size, void *buffer,
                                                       size_t room) {
    return send_recv(c, data, size, buffer, room, true);
}

// SPDX-License-Identifier: BSD-2-Clause
#include "chan/lmp.h"

#include "core/dispatch.h"

static inline void go_on(struct lmp_waiter *w, ssize_t result) {
    if (FIN_UNLIKELY(w->on != NULL)) {
        fin_lmp_tell_on(w, result);
        return;
    }
    w->at->waiter = NULL;
    w->result = result;
    fin_schedule_own(fin_rt(fin_self), w->awe);
}

bool fin_lmp_hand(struct ump_tx *tx, const void *data, size_t size) {
    struct lmp_waiter *w = tx->meeting->waiter;
    if (!w || !w->buffer || size > w->size)
        return false;
    if (FIN_LIKELY(size <= UMP_FIRST))
        ump_copy_line(w->buffer, data, size);
    else
        memcpy(w->buffer, data, size);
    go_on(w, (ssize_t)size);
    return true;
}

void fin_lmp_wake(struct meeting *m) {
    if (m->waiter)
        go_on(m->waiter, -EAGAIN);
}

void fin_lmp_arrived(struct ump_tx *tx) { fin_lmp_wake(tx->meeting); }

// Not where it is on the run queue already: it has its message.
static void cancelled(void *waiter) {
    struct lmp_waiter *w = waiter;
    if (w->at->waiter == w)
        go_on(w, -ECANCELED);
}

static inline FIN_BLOCKING ssize_t wait_for(struct meeting *at, void *buffer, size_t size, bool nc) {
    struct lmp_waiter w;
    w.at = at;
    w.buffer = buffer;
    w.size = size;
    w.on = NULL;
    w.item.link.next = NULL;
    if (!nc) {
        w.item.fn = cancelled;
        w.item.arg = &w;
        cancel_link(written_block(fin_here()->thread.current), &w.item);
    }
    at->waiter = &w;
    fin_suspend(&w.awe);
    if (w.item.link.next)
        fin_link_remove(&w.item.link);
    return w.result;
}

ssize_t fin_lmp_recv(struct fin_chan *c, void *buffer, size_t size, bool nc) {
    struct ump_rx *rx = &c->in.ump;
    if (FIN_UNLIKELY(!c->in.quick || rx->watched || ump_look(rx) != 0 || rx->gone || rx->peer->closed))
        return -EAGAIN;
    c->in.turn.mutex.locked = true;
    c->in.quick = false;
    ssize_t n = wait_for(rx->meeting, buffer, size, nc);
    in_give(c);
    return n;
}

int fin_lmp_await(struct ump_rx *rx, bool nc) {
    if (!nc && cancelled_here())
        return -ECANCELED;
    return wait_for(rx->meeting, NULL, 0, nc) == -ECANCELED ? -ECANCELED : 0;
}

// SPDX-License-Identifier: BSD-2-Clause
#include "chan/lmp.h"

#include "core/dispatch.h"

void fin_lmp_wake(struct meeting *m) {
    struct lmp_waiter *w = m->waiter;
    if (w && !w->buffer && w->size == LMP_PEEKS)
        fin_lmp_tell_peek(w, -EAGAIN);
    else if (w)
        fin_lmp_go_on(w, -EAGAIN);
}

void fin_lmp_arrived(struct ump_tx *tx) { fin_lmp_wake(tx->meeting); }

// Not where it is on the run queue already: it has its message.
static void cancelled(void *waiter) {
    struct lmp_waiter *w = waiter;
    if (w->at->waiter == w)
        fin_lmp_go_on(w, -ECANCELED);
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

// SPDX-License-Identifier: BSD-2-Clause
// A waiter whose wait is decided goes straight to the line for its mutex, and runs when it owns it.
#include "sync/wait.h"

void fin_cond_init(struct fin_cond *c) { *c = (struct fin_cond)FIN_COND_INIT; }

static inline int wait(struct fin_cond *c, struct fin_mutex *m, bool cancellable) {
    struct fin_waiter w;
    w.mutex = m;
    w.cancellable = cancellable;
    fin_latch_acquire(&c->waiters.latch);
    fin_waiters_insert(&c->waiters, &w, c->waiters.last);
    return fin_waiter_wait(&c->waiters, &w);
}

int fin_cond_wait(struct fin_cond *c, struct fin_mutex *m) {
    if (fin_cancelled())
        return -ECANCELED;
    return wait(c, m, true);
}

void fin_cond_wait_nc(struct fin_cond *c, struct fin_mutex *m) { wait(c, m, false); }

void fin_cond_signal(struct fin_cond *c) {
    fin_latch_acquire(&c->waiters.latch);
    struct fin_waiter *w = c->waiters.first;
    if (w)
        fin_waiters_take(&c->waiters, w);
    fin_latch_release(&c->waiters.latch);
    if (w)
        fin_mutex_pass(w->mutex, w);
}

void fin_cond_broadcast(struct fin_cond *c) {
    fin_latch_acquire(&c->waiters.latch);
    struct fin_waiter *all = c->waiters.first;
    while (c->waiters.first)
        fin_waiters_take(&c->waiters, c->waiters.first); // they stay linked among themselves by `next`
    fin_latch_release(&c->waiters.latch);
    for (struct fin_waiter *w = all, *next; w; w = next) {
        next = w->next;
        fin_mutex_pass(w->mutex, w);
    }
}

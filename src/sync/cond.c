// SPDX-License-Identifier: BSD-2-Clause
// A waiter whose wait is decided goes straight to the line for its mutex, and runs when it owns it.
#include "sync/wait.h"

void fin_cond_init(struct fin_cond *c) { *c = (struct fin_cond)FIN_COND_INIT; }

// With a continuation the mutex is no longer the frames', which are lost.
static FIN_BLOCKING int wait(struct fin_cond *c, struct fin_mutex *m, const struct fin_how *how) {
    bool of_frames = how->cont && m->hold;
    if (of_frames) {
        release_lock(m->hold);
        m->hold = NULL;
    }
    int r = fin_how_begin(how);
    if (r) {
        if (of_frames)
            fin_mutex_held(m);
        return r;
    }
    how->w->mutex = m;
    how->w->kind = FIN_WAITS_WITH_MUTEX;
    fin_latch_acquire(&c->waiters.latch);
    fin_waiters_insert(&c->waiters, how->w, c->waiters.last);
    r = fin_how_wait(how, &c->waiters);
    fin_mutex_held(m); // again
    return r;
}

int fin_cond_wait(struct fin_cond *c, struct fin_mutex *m) {
    struct fin_waiter w;
    return wait(c, m, FIN_HOW_STACK(&w, false));
}

void fin_cond_wait_nc(struct fin_cond *c, struct fin_mutex *m) {
    struct fin_waiter w;
    wait(c, m, FIN_HOW_STACK(&w, true));
}

FIN_SYNC_ON(fin_cond_wait_on, (struct fin_cond *c, struct fin_mutex *m, FIN_ON_PARAMETERS), wait, c, m)

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

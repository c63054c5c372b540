// SPDX-License-Identifier: BSD-2-Clause
#include "sync/wait.h"

void fin_mutex_init(struct fin_mutex *m) { *m = (struct fin_mutex)FIN_MUTEX_INIT; }

static inline int lock(struct fin_mutex *m, bool cancellable) {
    fin_latch_acquire(&m->waiters.latch);
    if (!m->locked) {
        m->locked = true;
        fin_latch_release(&m->waiters.latch);
        return 0;
    }
    return fin_waiter_join(&m->waiters, cancellable);
}

int fin_mutex_lock(struct fin_mutex *m) {
    if (fin_cancelled())
        return -ECANCELED;
    return lock(m, true);
}

void fin_mutex_lock_nc(struct fin_mutex *m) { lock(m, false); }

int fin_mutex_trylock(struct fin_mutex *m) {
    fin_latch_acquire(&m->waiters.latch);
    bool was_locked = m->locked;
    m->locked = true;
    fin_latch_release(&m->waiters.latch);
    return was_locked ? -EBUSY : 0;
}

// It stays locked where somebody waits: he owns it from here on.
void fin_mutex_unlock(struct fin_mutex *m) {
    fin_latch_acquire(&m->waiters.latch);
    struct fin_waiter *w = m->waiters.first;
    if (w)
        fin_waiters_take(&m->waiters, w);
    else
        m->locked = false;
    fin_latch_release(&m->waiters.latch);
    if (w)
        fin_waiter_run(w);
}

void fin_mutex_pass(struct fin_mutex *m, struct fin_waiter *w) {
    fin_latch_acquire(&m->waiters.latch);
    bool now = !m->locked;
    m->locked = true;
    if (!now)
        fin_waiters_insert(&m->waiters, w, m->waiters.last);
    fin_latch_release(&m->waiters.latch);
    if (now)
        fin_waiter_run(w);
}

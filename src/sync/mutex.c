// SPDX-License-Identifier: BSD-2-Clause
#include "core/host.h"
#include "sync/wait.h"

// A mutex that is free has no `hold`.
void fin_mutex_init(struct fin_mutex *m) { *m = (struct fin_mutex)FIN_MUTEX_INIT; }

static inline FIN_BLOCKING __attribute__((always_inline)) int lock(struct fin_mutex *m, const struct fin_how *how) {
    int r = fin_how_begin(how);
    if (r)
        return r;
    fin_latch_acquire(&m->waiters.latch);
    if (!m->locked) {
        m->locked = true;
        fin_latch_release(&m->waiters.latch);
        return fin_how_pass(how);
    }
    return fin_how_join(how, &m->waiters, FIN_WAITS_PLAIN);
}

int fin_mutex_lock(struct fin_mutex *m) {
    struct fin_waiter w;
    int r = lock(m, FIN_HOW_STACK(&w, false));
    if (r == 0)
        fin_mutex_held(m);
    return r;
}

void fin_mutex_lock_nc(struct fin_mutex *m) {
    struct fin_waiter w;
    lock(m, FIN_HOW_STACK(&w, true));
    fin_mutex_held(m);
}

FIN_SYNC_ON(fin_mutex_lock_on, (struct fin_mutex *m, FIN_ON_PARAMETERS), lock, m)

int fin_mutex_trylock(struct fin_mutex *m) {
    fin_latch_acquire(&m->waiters.latch);
    bool was_locked = m->locked;
    m->locked = true;
    fin_latch_release(&m->waiters.latch);
    if (was_locked)
        return -EBUSY;
    fin_mutex_held(m);
    return 0;
}

// It stays locked where somebody waits: he owns it from here on.
void fin_mutex_unlock(struct fin_mutex *m) {
    release_lock(m->hold);
    fin_latch_acquire(&m->waiters.latch);
    struct fin_waiter *w = m->waiters.first;
    m->hold = NULL; // until frames have it
    if (w) {
        fin_waiters_take(&m->waiters, w);
    } else {
        if (FIN_UNLIKELY(!m->locked))
            fin_host_die("fin_mutex_unlock, or a wait for a condition variable, of a mutex that is not locked");
        m->locked = false;
    }
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

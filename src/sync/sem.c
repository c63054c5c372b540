// SPDX-License-Identifier: BSD-2-Clause
#include <limits.h>

#include "sync/wait.h"

void fin_sem_init(struct fin_sem *s, int value) { *s = (struct fin_sem)FIN_SEM_INIT(value); }

// Invariant: while somebody waits the value is not positive. (models/wait.pml)
static inline FIN_BLOCKING __attribute__((always_inline)) int wait(struct fin_sem *s, const struct fin_how *how) {
    int r = fin_how_begin(how);
    if (r)
        return r;
    fin_latch_acquire(&s->waiters.latch);
    if (s->value > 0) {
        s->value--;
        fin_latch_release(&s->waiters.latch);
        return fin_how_pass(how);
    }
    return fin_how_join(how, &s->waiters, FIN_WAITS_TO_PASS);
}

int fin_sem_wait(struct fin_sem *s) {
    struct fin_waiter w;
    return wait(s, FIN_HOW_STACK(&w, false));
}

void fin_sem_wait_nc(struct fin_sem *s) {
    struct fin_waiter w;
    wait(s, FIN_HOW_STACK(&w, true));
}

FIN_SYNC_ON(fin_sem_wait_on, (struct fin_sem *s, FIN_ON_PARAMETERS), wait, s)

int fin_sem_trywait(struct fin_sem *s) {
    fin_latch_acquire(&s->waiters.latch);
    bool passed = s->value > 0;
    s->value -= passed;
    fin_latch_release(&s->waiters.latch);
    return passed ? 0 : -EAGAIN;
}

int fin_sem_post(struct fin_sem *s) {
    fin_latch_acquire(&s->waiters.latch);
    struct fin_waiter *w = s->value >= 0 ? s->waiters.first : NULL;
    bool full = s->value == INT_MAX;
    if (w)
        fin_waiters_take(&s->waiters, w);
    else
        s->value += !full;
    fin_latch_release(&s->waiters.latch);
    if (w)
        fin_waiter_run(w);
    return full ? -EOVERFLOW : 0;
}

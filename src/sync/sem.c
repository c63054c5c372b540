// SPDX-License-Identifier: BSD-2-Clause
#include <limits.h>

#include "sync/wait.h"

void fin_sem_init(struct fin_sem *s, int value) { *s = (struct fin_sem)FIN_SEM_INIT(value); }

// Invariant: while somebody waits the value is not positive.
static inline int wait(struct fin_sem *s, bool cancellable) {
    fin_latch_acquire(&s->waiters.latch);
    if (s->value > 0) {
        s->value--;
        fin_latch_release(&s->waiters.latch);
        return 0;
    }
    return fin_waiter_join(&s->waiters, cancellable);
}

int fin_sem_wait(struct fin_sem *s) {
    if (fin_cancelled())
        return -ECANCELED;
    return wait(s, true);
}

void fin_sem_wait_nc(struct fin_sem *s) { wait(s, false); }

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

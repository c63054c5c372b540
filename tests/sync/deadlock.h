// SPDX-License-Identifier: BSD-2-Clause
// Two AWEs that wait for one another, until one of them is cancelled.
#ifndef FIN_TESTS_SYNC_DEADLOCK_H
#define FIN_TESTS_SYNC_DEADLOCK_H

#include <fin.h>

static struct fin_mutex a = FIN_MUTEX_INIT, b = FIN_MUTEX_INIT;

static inline void take_both(struct fin_mutex *first, struct fin_mutex *second) {
    if (fin_mutex_lock(first) != 0)
        return;
    fin_yield();
    if (fin_mutex_lock(second) == 0)
        fin_mutex_unlock(second);
    fin_mutex_unlock(first);
}

static inline void a_then_b(void *unused) {
    (void)unused;
    fin_set_name("left");
    take_both(&a, &b);
}

static inline void b_then_a(void *unused) {
    (void)unused;
    take_both(&b, &a);
}

#endif

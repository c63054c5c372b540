// SPDX-License-Identifier: BSD-2-Clause
// Sites in functions that raise no exceptions, for which compilers may write no tables. See tables.py.
#include <fin.h>

void waits(struct fin_awe **slot) __attribute__((nothrow));
int owns(int *n) __attribute__((nothrow));

void waits(struct fin_awe **slot) {
    fin_yield();
    fin_suspend(slot);
}

static void adds(void *n) { ++*(int *)n; }

int owns(int *n) {
    fin_finish {
        fin_async_call(adds, n);
        fin_async_eager_call(adds, n);
    }
    return *n;
}

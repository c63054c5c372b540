// SPDX-License-Identifier: BSD-2-Clause
// finish + async + one yield + completion.
#include <fin.h>

#include "rows.h"

static void yields(void *p) {
    (void)p;
    fin_yield();
}

// Suspends; the finish block's owner yields back to it.
static void suspends(void *slot) { fin_suspend(slot); }

static __attribute__((noinline)) void lazy(void) {
    fin_finish {
        fin_async_call(yields, NULL);
    }
}

static __attribute__((noinline)) void eager(void) {
    fin_finish {
        fin_async_eager_call(yields, NULL);
    }
}

static __attribute__((noinline)) void lazy_to(void) {
    struct fin_awe *slot;
    fin_finish {
        fin_async_call(suspends, &slot);
        fin_yield_to(slot);
    }
}

static __attribute__((noinline)) void eager_to(void) {
    struct fin_awe *slot;
    fin_finish {
        fin_async_eager_call(suspends, &slot);
        fin_yield_to(slot);
    }
}

static inline double repeat(long n, void (*fn)(void)) {
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++)
        fn();
    return bench_since(start, (double)n);
}

double create_call(long n) { return repeat(n, lazy); }
double create_eager_call(long n) { return repeat(n, eager); }
double create_yield_to(long n) { return repeat(n, lazy_to); }
double create_eager_yield_to(long n) { return repeat(n, eager_to); }

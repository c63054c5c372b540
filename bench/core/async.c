// SPDX-License-Identifier: BSD-2-Clause
#include <fin.h>

#include "rows.h"

__attribute__((noinline)) void bench_body(void *p) { __asm__ volatile("" : : "r"(p) : "memory"); }

// The callee of every row, in a register, known to no compiler.
static inline void (*opaque(void))(void *) {
    void (*fn)(void *) = bench_body;
    __asm__("" : "+r"(fn));
    return fn;
}

double async_plain(long n) {
    int x = 0;
    void (*fn)(void *) = opaque();
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++)
        fn(&x);
    return bench_since(start, (double)n);
}

double async_call(long n) {
    int x = 0;
    void (*fn)(void *) = opaque();
    double result = 0;
    fin_finish {
        uint64_t start = bench_ticks();
        for (long i = 0; i < n; i++)
            fin_async_call(fn, &x);
        result = bench_since(start, (double)n);
    }
    return result;
}

double async_eager_call(long n) {
    int x = 0;
    void (*fn)(void *) = opaque();
    double result = 0;
    fin_finish {
        uint64_t start = bench_ticks();
        for (long i = 0; i < n; i++)
            fin_async_eager_call(fn, &x);
        result = bench_since(start, (double)n);
    }
    return result;
}

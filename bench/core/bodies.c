// SPDX-License-Identifier: BSD-2-Clause
// Bodies in place: nested functions in GNU C, blocks in Clang.
#include <fin.h>

#include "rows.h"

double async_nested(long n) {
    fin_shared int x = 0;
    double result = 0;
    fin_finish {
        uint64_t start = bench_ticks();
        for (long i = 0; i < n; i++) {
            fin_async { __asm__ volatile("" : : "r"(&x) : "memory"); };
        }
        result = bench_since(start, (double)n);
    }
    return result;
}

double async_eager_nested(long n) {
    fin_shared int x = 0;
    double result = 0;
    fin_finish {
        uint64_t start = bench_ticks();
        for (long i = 0; i < n; i++) {
            fin_async_eager { __asm__ volatile("" : : "r"(&x) : "memory"); };
        }
        result = bench_since(start, (double)n);
    }
    return result;
}

static __attribute__((noinline)) void one(void) {
    fin_finish {
        fin_async { fin_yield(); };
    }
}

double create_nested(long n) {
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++)
        one();
    return bench_since(start, (double)n);
}

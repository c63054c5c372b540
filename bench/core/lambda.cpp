// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>

#include "rows.h"

double async_lambda(long n) {
    int x = 0;
    double result = 0;
    fin_finish {
        uint64_t start = bench_ticks();
        for (long i = 0; i < n; i++)
            fin_async { __asm__ volatile("" : : "r"(&x) : "memory"); };
        result = bench_since(start, static_cast<double>(n));
    }
    return result;
}

double async_eager_lambda(long n) {
    int x = 0;
    double result = 0;
    fin_finish {
        uint64_t start = bench_ticks();
        for (long i = 0; i < n; i++)
            fin_async_eager { __asm__ volatile("" : : "r"(&x) : "memory"); };
        result = bench_since(start, static_cast<double>(n));
    }
    return result;
}

// The body may throw, as far as the compiler knows.
double async_call_cpp(long n) {
    double result = 0;
    fin_finish {
        uint64_t start = bench_ticks();
        for (long i = 0; i < n; i++)
            fin_async_call(bench_body, nullptr);
        result = bench_since(start, static_cast<double>(n));
    }
    return result;
}

static __attribute__((noinline)) void one() {
    fin_finish {
        fin_async { fin_yield(); };
    }
}

double create_lambda(long n) {
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++)
        one();
    return bench_since(start, static_cast<double>(n));
}

// SPDX-License-Identifier: BSD-2-Clause
// Two AWEs that switch to one another n times in all.
#include <fin.h>

#include "rows.h"

static bool stop;

static void yields(void *p) {
    (void)p;
    while (!stop)
        fin_yield();
}

double switch_yield(long n) {
    double result = 0;
    stop = false;
    fin_finish {
        fin_async_call(yields, NULL);
        uint64_t start = bench_ticks();
        for (long i = 0; i < n; i += 2)
            fin_yield();
        result = bench_since(start, (double)n);
        stop = true;
    }
    return result;
}

static struct fin_awe *slot;

static void suspends(void *p) {
    (void)p;
    while (!stop)
        fin_suspend(&slot);
}

// There: directed. Back: the other suspends, and this one is the queue's only AWE.
double switch_yield_to(long n) {
    double result = 0;
    stop = false;
    fin_finish {
        fin_async_call(suspends, NULL);
        uint64_t start = bench_ticks();
        for (long i = 0; i < n; i += 2)
            fin_yield_to(slot);
        result = bench_since(start, (double)n);
        stop = true;
        fin_yield_to(slot);
    }
    return result;
}

static uint32_t here, there;

static void make_ids(void) {
    stop = false;
    if (here)
        return;
    BENCH_DID(fin_awe_id_create(&here));
    BENCH_DID(fin_awe_id_create(&there));
}

static void saves(void *p) {
    (void)p;
    while (!stop)
        fin_yield_and_save_no_dispatch(there);
}

double switch_yield_to_id(long n) {
    double result = 0;
    make_ids();
    fin_finish {
        fin_async_call(saves, NULL);
        uint64_t start = bench_ticks();
        for (long i = 0; i < n; i += 2)
            fin_yield_to_id(there);
        result = bench_since(start, (double)n);
        stop = true;
        fin_yield_to_id(there);
    }
    return result;
}

static void directed(void *p) {
    (void)p;
    fin_yield_and_save(there);
    while (!stop)
        fin_yield_to_id_and_save(here, there);
}

double switch_yield_to_id_and_save(long n) {
    double result = 0;
    make_ids();
    fin_finish {
        fin_async_call(directed, NULL);
        uint64_t start = bench_ticks();
        for (long i = 0; i < n; i += 2)
            fin_yield_to_id_and_save(there, here);
        result = bench_since(start, (double)n);
        stop = true;
    }
    return result;
}

static void undispatched(void *p) {
    (void)p;
    fin_yield_and_save_no_dispatch(there);
    while (!stop)
        fin_yield_to_id_and_save_no_dispatch(here, there);
    fin_yield_to_id(here);
}

double switch_no_dispatch(long n) {
    double result = 0;
    make_ids();
    fin_finish {
        fin_async_call(undispatched, NULL);
        uint64_t start = bench_ticks();
        for (long i = 0; i < n; i += 2)
            fin_yield_to_id_and_save_no_dispatch(there, here);
        result = bench_since(start, (double)n);
        stop = true;
        fin_yield_to_id_and_save_no_dispatch(there, here);
    }
    return result;
}

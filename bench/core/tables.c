// SPDX-License-Identifier: BSD-2-Clause
// What is compared with what, the targets, the published figures.
#include <pthread.h>

#include "rows.h"

#define NO_BOOST "built without Boost.Context (libboost-context-dev)"

void table_async(void) {
    enum { N = 100000 };
    struct bench_row rows[] = {
        {"plain indirect call", async_plain, N, "8"},
        {"fin_async_call", async_call, N, "10-44", .base = 1, .times = 1.5},
        {"fin_async, body in place (C)", async_nested, N, "10-44", .base = 1, .times = 1.5},
        {"fin_async, lambda (C++)", async_lambda, N, "10-44", .base = 1, .times = 1.5},
        {"fin_async_call (C++)", async_call_cpp, N, "10-44", .base = 1, .times = 1.5},
        {"fin_async_eager_call", async_eager_call, N, "120", .base = 1, .times = 4},
        {"fin_async_eager, body in place (C)", async_eager_nested, N, "120", .base = 1, .times = 4},
        {"fin_async_eager, lambda (C++)", async_eager_lambda, N, "120", .base = 1, .times = 4},
    };
    bench_table("async", "An async that does not block: cycles", "cycles", rows, BENCH_COUNT(rows));
}

void table_create(void) {
    enum { N = 10000 };
    struct bench_row rows[] = {
        {"fin_async_call", create_call, N, "245-269", .at_most = 70},
        {"fin_async, body in place (C)", create_nested, N, "245-269", .at_most = 70},
        {"fin_async, lambda (C++)", create_lambda, N, "245-269", .at_most = 70},
        {"fin_async_eager_call", create_eager_call, N, "247-330", .at_most = 70},
        {"C++20 coroutine, pooled frame", coroutine_create, N, "43"},
        {"Boost fcontext: create, two switches, destroy", fcontext_create_2, N, "68"},
        {"Boost fcontext: create, four switches, destroy", fcontext_create_4, N},
    };
    size_t boost = have_fcontext ? 0 : 2;
    bench_table("create", "finish + async + one yield + completion: cycles", "cycles", rows, BENCH_COUNT(rows) - boost);
    if (boost)
        bench_skip("Boost fcontext", NO_BOOST);
    printf("  published besides: Photon 465, Go 1,430\n");
}

void table_switch(void) {
    enum { N = 50000 };
    struct bench_row rows[] = {
        {"minimal switch", minimal_two, N, "8-10"},
        {"fin_yield_to_id_and_save_no_dispatch", switch_no_dispatch, N, "71-80", .base = 1, .times = 1.5},
        {"fin_yield_to_id_and_save", switch_yield_to_id_and_save, N, "83-95", .base = 1, .times = 1.5},
        {"fin_yield_to_id, back by no_dispatch", switch_yield_to_id, N, NULL, .base = 1, .times = 1.5},
        {"fin_yield_to, back by fin_suspend", switch_yield_to, N, NULL, .base = 1, .times = 1.5},
        {"fin_yield, round-robin", switch_yield, N, "71-95", .base = 1, .times = 2.5},
        {"Boost fcontext", fcontext_two, N, "17", .base = 1},
    };
    size_t boost = have_fcontext ? 0 : 1;
    bench_table("switch", "Switch between two AWEs: cycles", "cycles", rows, BENCH_COUNT(rows) - boost);
    if (boost)
        bench_skip("Boost fcontext", NO_BOOST);
    printf("  published besides: Photon 60 to 120, libdill 90\n");
}

static void *nothing(void *unused) { return unused; }

// POSIX threads' mutexes barge, ours are handed to the first in line: the range shows where that is to one who sleeps.
void table_sync(void) {
    enum { N = 20000, FAR = 500 };
    pthread_t once; // from then on glibc takes the process for one with several threads
    BENCH_DID(-pthread_create(&once, NULL, nothing, NULL));
    BENCH_DID(-pthread_join(once, NULL));
    struct bench_row rows[] = {
        {"lock and unlock, nobody waits, pthread_mutex", sync_posix_lock, N},
        {"lock and unlock, nobody waits, fin_mutex", sync_lock, N, .base = 1},
        {"post and wait, nobody waits, sem_t", sync_posix_post, N},
        {"post and wait, nobody waits, fin_sem", sync_post, N, .base = 3},
        {"fin_mutex handed from AWE to AWE of a thread", sync_lock_handed, N},
        {"round trip of two AWEs, fin_sem", sync_round_trip, N},
        {"round trip of two threads, sem_t", sync_posix_round_trip_threads, FAR},
        {"round trip of two threads, fin_sem", sync_round_trip_threads, FAR, .base = 7},
        {"a lock in 250 additions, two threads, pthread_mutex", sync_posix_lock_threads, N},
        {"a lock in 250 additions, two threads, fin_mutex", sync_lock_threads, N, .base = 9},
    };
    bench_table("sync", "Mutexes and semaphores, beside POSIX threads': cycles", "cycles", rows, BENCH_COUNT(rows));
}

// Call, Async, Yield: the table of the AC paper, and what others measured for the like.
void table_micro(void) {
    enum { N = 20000 };
    struct bench_row r[] = {
        {"call", async_plain, N},
        {"async, lazy", async_call, N},
        {"async, eager", async_eager_call, N},
        {"yield, lazy", create_call, N / 10},
        {"yield, eager", create_eager_call, N / 10},
    };
    bench_measure(r, BENCH_COUNT(r));
    printf(
        "\nMicrobenchmarks of the AC paper (5.1): cycles for a call, an async that does not block, an async that yields\n");
    printf("  %-36s %8s %8s %8s\n", "", "Call", "Async", "Yield");
    printf("  %-36s %8.1f %8.1f %8.1f\n", "Fin, lazy, any compiler", r[0].median, r[1].median, r[3].median);
    printf("  %-36s %8.1f %8.1f %8.1f\n", "Fin, eager, any compiler", r[0].median, r[2].median, r[4].median);
    static const struct {
        const char *name;
        int call, async, yield;
    } published[] = {
        {"published: lazy, compiler-integrated", 8, 10, 245},
        {"published: lazy, macros", 8, 44, 269},
        {"published: eager, macros", 8, 120, 247},
    };
    for (size_t i = 0; i < BENCH_COUNT(published); i++)
        printf("  %-36s %8d %8d %8d\n", published[i].name, published[i].call, published[i].async, published[i].yield);
    for (size_t i = 0; i < BENCH_COUNT(r); i++) {
        if (bench_noisy(r[i].median, r[i].lo, r[i].hi))
            printf("  ~ %s: from %.1f to %.1f in 90%% of the repetitions\n", r[i].name, r[i].lo, r[i].hi);
        bench_csv("micro", r[i].name, "median", r[i].median);
    }
    fflush(stdout);
}

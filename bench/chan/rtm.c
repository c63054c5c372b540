// SPDX-License-Identifier: BSD-2-Clause
// The study of RTM (htm 3.1.1 to 3.1.4): what a transaction costs that commits, one that aborts, both with more lines read,
// and how long one can last. Where the processor has none it says so. And how long a step has to be for its transaction to
// cost little (fin_monitored_step).
#include <fin.h>

#include "rows.h"
#include "rtm.h"

enum { LINES = 128 };
static struct {
    uint64_t word[8];
} data[LINES];

static double cost(long n, int lines, bool aborts) {
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++) {
        if (fin_rtm_begin() != FIN_RTM_STARTED)
            continue;
        for (int k = 0; k < lines; k++)
            __atomic_load_n(&data[k].word[0], __ATOMIC_RELAXED);
        if (aborts)
            fin_rtm_abort();
        fin_rtm_commit();
    }
    return bench_since(start, (double)n);
}

static double commit_0(long n) { return cost(n, 0, false); }
static double commit_128(long n) { return cost(n, LINES, false); }
static double abort_0(long n) { return cost(n, 0, true); }
static double abort_128(long n) { return cost(n, LINES, true); }

static double lasts(long n) {
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++)
        if (fin_rtm_begin() == FIN_RTM_STARTED)
            for (;;)
                __asm__ volatile("nop");
    return bench_since(start, (double)n);
}

static uint64_t sum;

// Eight at a time, of what the compiler does not know.
static void add(uint64_t first, uint64_t count) {
    uint64_t s = sum;
    for (uint64_t i = first; i < first + count; i += 8)
        for (uint64_t k = 0; k < 8; k++) {
            s += i;
            __asm__ volatile("" : "+r"(s));
        }
    sum = s;
}

// What this processor otherwise works out when it renames registers it executes in a transaction: the addition of a
// constant, as here, the copy of a register, the load of what was just stored. That takes four, five and nine times as long.
static void add_constants(uint64_t first, uint64_t count) {
    uint64_t s = sum;
    for (uint64_t i = first; i < first + count; i += 8)
        for (uint64_t k = 0; k < 8; k++) {
            s += 3;
            __asm__ volatile("" : "+r"(s));
        }
    sum = s;
}

struct additions {
    uint64_t first, count;
};

static void add_step(void *additions) {
    struct additions *a = additions;
    add(a->first, a->count);
    a->first += a->count;
}

static void add_constants_step(void *additions) {
    struct additions *a = additions;
    add_constants(a->first, a->count);
    a->first += a->count;
}

// By a pointer that the compiler cannot see through, as the library calls it.
static double steps(long n, void (*step)(void *), uint64_t count, bool monitored) {
    struct additions a = {0, count};
    __asm__ volatile("" : "+r"(step));
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++)
        if (monitored)
            fin_monitored_step(step, &a);
        else
            step(&a);
    return bench_since(start, (double)n);
}

#define STEPS(count)                                                                                                        \
    static double plain_##count(long n) { return steps(n, add_step, count, false); }                                        \
    static double step_##count(long n) { return steps(n, add_step, count, true); }
STEPS(1000)
STEPS(3000)
STEPS(10000)
static double plain_constants(long n) { return steps(n, add_constants_step, 10000, false); }
static double step_constants(long n) { return steps(n, add_constants_step, 10000, true); }

static void table_steps(void) {
    struct bench_row rows[] = {
        {"1,000 additions", plain_1000, 300},
        {"1,000 additions, a step", step_1000, 300, NULL, 1},
        {"3,000 additions", plain_3000, 100},
        {"3,000 additions, a step", step_3000, 100, NULL, 3},
        {"10,000 additions", plain_10000, 30},
        {"10,000 additions, a step", step_10000, 30, NULL, 5},
        {"10,000 additions of a constant", plain_constants, 30},
        {"10,000 additions of a constant, a step", step_constants, 30, NULL, 7},
    };
    bench_table("steps", "additions, and the same as a fin_monitored_step that no message aborts", "cycles", rows,
                BENCH_COUNT(rows));
    printf("  (%s)\n", fin_alert_backend());
}

void table_rtm(void) {
    struct bench_row rows[] = {
        {"commit, nothing read", commit_0, 10000, "48"},
        {"commit, 128 lines read", commit_128, 1000},
        {"abort, nothing read", abort_0, 10000, "155"},
        {"abort, 128 lines read", abort_128, 1000},
        {"until an idle transaction is aborted", lasts, 10, "10752920"},
    };
    if (fin_rtm_works()) {
        bench_table("rtm", "transactions (htm 3.1)", "cycles", rows, BENCH_COUNT(rows));
        table_rtm_lines();
    } else {
        bench_skip("transactions (htm 3.1)", "this processor has no RTM, or none of its transactions commits");
        bench_skip("lines modified (htm 3.1.3)", "they take transactions that commit");
    }
    table_steps();
}

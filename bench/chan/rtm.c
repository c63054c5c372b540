// SPDX-License-Identifier: BSD-2-Clause
// The study of RTM (htm 3.1.1 to 3.1.4): what a transaction costs that commits, one that aborts, both with more lines read,
// and how long one can last. Where the processor has none it says so.
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

void table_rtm(void) {
    struct bench_row rows[] = {
        {"commit, nothing read", commit_0, 10000, "48"},
        {"commit, 128 lines read", commit_128, 1000},
        {"abort, nothing read", abort_0, 10000, "155"},
        {"abort, 128 lines read", abort_128, 1000},
        {"until an idle transaction is aborted", lasts, 10, "10752920"},
    };
    if (fin_rtm_works())
        bench_table("rtm", "transactions (htm 3.1)", "cycles", rows, BENCH_COUNT(rows));
    else
        bench_skip("transactions (htm 3.1)", "this processor has no RTM, or none of its transactions commits");
}

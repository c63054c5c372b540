// SPDX-License-Identifier: BSD-2-Clause
// Round-robin of many AWEs through the run queue.
#include <fin.h>

#include "rows.h"

static bool stop;

static void yields(void *p) {
    (void)p;
    while (!stop)
        fin_yield();
}

// The AWEs exist from table_ring on; each of the caller's yields is a round.
static double ring_yield(long n) {
    long each = n / (RING + 1);
    for (long i = 0; i <= each / 8; i++) // the caches are full of other rows
        fin_yield();
    uint64_t start = bench_ticks();
    for (long i = 0; i < each; i++)
        fin_yield();
    return bench_since(start, (double)(each * (RING + 1)));
}

void table_ring(void) {
    enum { N = 3 * (RING + 1) };
    struct bench_row rows[] = {
        {"minimal switch, tops staggered by a line", minimal_ring_staggered, N, "90-105"},
        {"minimal switch, tops on page boundaries", minimal_ring, N, "190-300", .base = 1},
        {"fin_yield", ring_yield, N, NULL, .base = 1, .times = 1.5},
    };
    stop = false;
    fin_finish {
        for (long i = 0; i < RING; i++)
            fin_async_call(yields, NULL);
        bench_table("ring", "Round-robin of 10,000: cycles per switch", "cycles", rows, BENCH_COUNT(rows));
        stop = true;
    }
}

// SPDX-License-Identifier: BSD-2-Clause
// Lines modified one after the other, plainly, in a transaction that commits, and in one that aborts in the end (htm 3.1.3):
// each time with none of them in a cache, until the counter can be read (figure 3.1), and until the stores are in the
// cache (figure 3.2; a commit waits for that anyway).
#include <string.h>

#include "rows.h"
#include "rtm.h"

#if defined(__x86_64__)
enum { MOST = 100, STRIDE = 20, SIZES = MOST / STRIDE + 1, TIMES = 1001, QUICK = 101, TRIES = 100 };
enum mode { PLAIN, COMMIT, ABORT, PLAIN_DRAINED, ABORT_DRAINED, MODES };
static const char *const names[MODES] = {"plain", "commit", "abort", "plain, drained", "abort, drained"};

static struct {
    uint64_t word[8];
} data[MOST] __attribute__((aligned(4096)));
static double samples[SIZES][MODES][TIMES];

static void flush(void) {
    for (int i = 0; i < MOST; i++)
        __builtin_ia32_clflush(&data[i]);
    __builtin_ia32_mfence();
}

static inline void modify(int lines, bool drained) {
    for (int i = 0; i < lines; i++)
        __atomic_store_n(&data[i].word[0], 0x600d600d600d600d, __ATOMIC_RELAXED);
    if (drained)
        __builtin_ia32_mfence();
}

static bool transaction(int lines, enum mode mode) {
    if (fin_rtm_begin() != FIN_RTM_STARTED)
        return mode != COMMIT;
    modify(lines, mode == ABORT_DRAINED);
    if (mode != COMMIT)
        fin_rtm_abort();
    fin_rtm_commit();
    return true;
}

static double once(int lines, enum mode mode) {
    for (int tries = 0;; tries++) {
        unsigned processor;
        flush();
        uint64_t start = bench_ticks_fenced();
        bool done = true;
        if (mode == PLAIN || mode == PLAIN_DRAINED)
            modify(lines, mode == PLAIN_DRAINED);
        else
            done = transaction(lines, mode);
        uint64_t end = __builtin_ia32_rdtscp(&processor);
        if (done || tries == TRIES) // an interrupt came in those before
            return (double)(end - start) * BENCH_CYCLES_PER_TICK;
    }
}

static void print(int times) {
    printf("\nlines modified (htm 3.1.3), none of them in a cache: cycles, median of %d\n  %-10s", times, "");
    for (int m = 0; m < MODES; m++)
        printf(" %15s", names[m]);
    for (int s = 0; s < SIZES; s++) {
        char lines[16];
        snprintf(lines, sizeof lines, "%d", s * STRIDE);
        printf("\n  lines  %3s", lines);
        for (int m = 0; m < MODES; m++) {
            bench_sort(samples[s][m], (size_t)times);
            double median = bench_at(samples[s][m], (size_t)times, 0.5);
            printf(" %15.0f", median);
            bench_csv("rtm_lines", lines, names[m], median);
        }
    }
    printf("\n");
}

void table_rtm_lines(void) {
    int times = bench_options.quick ? QUICK : TIMES;
    memset(data, 1, sizeof data);
    for (int k = 0; k < times; k++)
        for (int s = 0; s < SIZES; s++)
            for (int m = 0; m < MODES; m++)
                samples[s][m][k] = once(s * STRIDE, m);
    print(times);
}
#else
void table_rtm_lines(void) {}
#endif

// SPDX-License-Identifier: BSD-2-Clause
// A receiver that nothing has come to for a while: from a send until its answer is there, while its wait goes from looks to
// umwait, or what this processor has of the kind, and to sleep; and where that is forbidden (FIN_DOZE=0). Beside them by
// hand: a line that the processor watches so, and one that is looked at. Each run is a process of its own.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include <fin/chan.h>

#include "doze.h"
#include "rows.h"

enum { TIMES = 8, RUNS = 15, QUICK_RUNS = 5, TRIPS = 20, MEDIAN_OF = 9, WAYS = 4 };
static const uint64_t us[TIMES] = {1, 2, 5, 10, 20, 30, 50, 200}; // without a message

static struct {
    uint64_t number;
} __attribute__((aligned(128))) asked, answered;
static enum fin_doze by; // how the far side waits
static uint64_t quiet, trips;

static void answer_number(void *n) {
    for (uint64_t i = 1; i <= *(uint64_t *)n; i++) {
        while (__atomic_load_n(&asked.number, __ATOMIC_ACQUIRE) != i) {
            if (by == FIN_DOZE_NOT)
                continue;
            fin_arch_watch(by, &asked.number);
            if (__atomic_load_n(&asked.number, __ATOMIC_ACQUIRE) != i)
                fin_arch_doze(by);
        }
        __atomic_store_n(&answered.number, i, __ATOMIC_RELEASE);
    }
}

static void ask_number(void *n) {
    for (uint64_t i = 1; i <= *(uint64_t *)n; i++) {
        bench_pause(quiet);
        uint64_t start = bench_ticks();
        __atomic_store_n(&asked.number, i, __ATOMIC_RELEASE);
        while (__atomic_load_n(&answered.number, __ATOMIC_ACQUIRE) != i) {
        }
        trips += bench_ticks() - start;
    }
}

static double by_hand(enum fin_doze kind, uint64_t ns) {
    uint64_t n = TRIPS;
    by = kind;
    quiet = ns;
    asked.number = answered.number = trips = 0;
    two_sides(ask_number, answer_number, &n, TRIPS);
    return (double)trips * BENCH_CYCLES_PER_TICK / TRIPS;
}

// Bits of a way to wait: 1, Fin's, not by hand; 2, with umwait.
static double one(int way, uint64_t ns) {
    return way & 1 ? trip_after(TRIPS, ns) : by_hand(way & 2 ? fin_arch_doze_kind() : FIN_DOZE_NOT, ns);
}

int quiet_child(long way) {
    for (int t = 0; t < TIMES; t++) {
        double samples[MEDIAN_OF];
        for (int k = -1; k < MEDIAN_OF; k++) // the first warms up
            samples[k < 0 ? 0 : k] = one((int)way, us[t] * 1000);
        bench_sort(samples, MEDIAN_OF);
        printf("%f\n", bench_at(samples, MEDIAN_OF, 0.5));
    }
    return 0;
}

static double samples[WAYS][TIMES][RUNS];

static void run(int way, int k) {
    double v[TIMES];
    if (way & 2)
        unsetenv("FIN_DOZE");
    else
        setenv("FIN_DOZE", "0", 1);
    bench_rival(NULL, "quiet", way, v, TIMES);
    for (int t = 0; t < TIMES; t++)
        samples[way][t][k] = v[t];
}

static void print(int ways, int runs) {
    static char names[WAYS * TIMES][80];
    const char *doze = fin_arch_doze_name(fin_arch_doze_kind());
    struct bench_row rows[WAYS * TIMES];
    for (int i = 0; i < ways * TIMES; i++) {
        int t = i / ways, way = i % ways;
        static const char *const how[WAYS] = {"looks", "looks, sleep", "%s", "looks, %s, sleep"};
        size_t at = (size_t)snprintf(names[i], sizeof names[i], "after %d us%s: ", (int)us[t], way & 1 ? "" : " by hand");
        snprintf(names[i] + at, sizeof names[i] - at, how[way], doze);
        double *v = samples[way][t];
        bench_sort(v, (size_t)runs);
        rows[i] = (struct bench_row){.name = names[i], .base = way & 1 ? i : 0, .median = bench_at(v, (size_t)runs, 0.5)};
        bench_range(v, (size_t)runs, &rows[i].lo, &rows[i].hi);
    }
    char title[100];
    snprintf(title, sizeof title, "from a send to its answer after so long without a message, each row %d times", runs);
    bench_print("quiet", title, "cycles", rows, (size_t)(ways * TIMES));
}

void table_quiet(void) {
    const char *wish = getenv("FIN_DOZE");
    char *kept = wish ? strdup(wish) : NULL;
    int ways = fin_arch_doze_kind() == FIN_DOZE_NOT ? WAYS / 2 : WAYS, runs = bench_options.quick ? QUICK_RUNS : RUNS;
    unpin(); // the children would have this thread's one processor for both sides
    for (int k = 0; k < runs; k++)
        for (int way = 0; way < ways; way++)
            run(way, k);
    if (kept)
        setenv("FIN_DOZE", kept, 1);
    else
        unsetenv("FIN_DOZE");
    free(kept);
    print(ways, runs);
    if (ways < WAYS)
        bench_skip("looks, umwait or mwaitx, then sleeps", "not on this processor");
}

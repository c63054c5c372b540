// SPDX-License-Identifier: BSD-2-Clause
// Tables 1, 2, 3 and 5 of the extensions paper, row by row. The timer's own overhead is measured and subtracted as there:
// the least from the least, the greatest from the greatest, and so on. A processor of today would run ahead across a bare
// rdtsc; the fences that keep it from doing so make each measured operation start and end with nothing under way, as it
// seldom does in a program: these are latencies, and tables 1 and 5, averages over many, are the costs.
#include <fin.h>

#include "rows.h"

enum { MEASUREMENTS = 100000, PIECES = 25, PIECE = MEASUREMENTS / PIECES, ATTEMPTS = 20 };

struct statistics {
    double min, max, median, average;
};

static double samples[MEASUREMENTS];
static int taken;

static inline void sample(uint64_t start) {
    uint64_t end = bench_ticks_fenced();
    if (taken < MEASUREMENTS) // an AWE may come back once more after the last
        samples[taken++] = (double)(end - start) * BENCH_CYCLES_PER_TICK;
}

static struct statistics sum_up(void) {
    double sum = 0;
    BENCH_MUST(taken > 0);
    for (int i = 0; i < taken; i++)
        sum += samples[i];
    bench_sort(samples, (size_t)taken);
    return (struct statistics){samples[0], samples[taken - 1], bench_at(samples, (size_t)taken, 0.5), sum / taken};
}

// A run in pieces: one during which the system ran something else is taken again.
static struct statistics all_of(void (*run)(void)) {
    for (int piece = taken = 0; piece < PIECES; piece++) {
        int before = taken;
        for (int attempts = 0; attempts < ATTEMPTS; attempts++) {
            long preemptions = bench_preemptions();
            taken = before;
            run();
            if (bench_preemptions() == preemptions)
                break;
        }
    }
    return sum_up();
}

static struct statistics less(struct statistics a, struct statistics b) {
    return (struct statistics){a.min - b.min, a.max - b.max, a.median - b.median, a.average - b.average};
}

static void timer(void) {
    for (int i = 0; i < PIECE; i++)
        sample(bench_ticks_fenced());
}

// How far apart two readings at once are, if they differ.
static double resolution(void) {
    int n = 0;
    while (n < 1000) {
        uint64_t start = bench_ticks(), end = bench_ticks();
        if (end > start)
            samples[n++] = (double)(end - start) * BENCH_CYCLES_PER_TICK;
    }
    bench_sort(samples, (size_t)n);
    return bench_at(samples, (size_t)n, 0.05);
}

// Tables 1 and 2: two AWEs that yield to one another by id. For table 2 each switch is timed, from just before the yield of
// the one to just after that of the other.
static uint32_t ids[2];
static long left;
static uint64_t left_at;

#define PING_PONG(name, yield, timed)                                                                                       \
    static void name(void *is_first) {                                                                                      \
        uint32_t me = is_first ? ids[0] : ids[1], other = is_first ? ids[1] : ids[0];                                       \
        if (is_first)                                                                                                       \
            fin_yield_and_save_no_dispatch(me);                                                                             \
        while (left-- > 0) {                                                                                                \
            if (timed) {                                                                                                    \
                sample(left_at);                                                                                            \
                left_at = bench_ticks_fenced();                                                                             \
            }                                                                                                               \
            if (yield(other, me) != 0)                                                                                      \
                break;                                                                                                      \
        }                                                                                                                   \
        fin_yield_to_id(other); /* nobody else runs it where it waits off the queue */                                      \
    }
PING_PONG(dispatched, fin_yield_to_id_and_save, false)
PING_PONG(undispatched, fin_yield_to_id_and_save_no_dispatch, false)
PING_PONG(dispatched_timed, fin_yield_to_id_and_save, true)
PING_PONG(undispatched_timed, fin_yield_to_id_and_save_no_dispatch, true)

static void switches(void (*body)(void *), bool eager, long n) {
    for (int i = 0; i < 2 && !ids[i]; i++)
        BENCH_DID(fin_awe_id_create(&ids[i]));
    left = n;
    left_at = bench_ticks_fenced();
    fin_finish {
        if (eager) {
            fin_async_eager_call(body, ids);
            fin_async_eager_call(body, NULL);
        } else {
            fin_async_call(body, ids);
            fin_async_call(body, NULL);
        }
    }
}

static void lazy_bounds(void) { switches(dispatched_timed, false, PIECE); }
static void lazy_bounds_no_dispatch(void) { switches(undispatched_timed, false, PIECE); }
static void eager_bounds(void) { switches(dispatched_timed, true, PIECE); }
static void eager_bounds_no_dispatch(void) { switches(undispatched_timed, true, PIECE); }

static double switches_average(void (*body)(void *), bool eager, long n) {
    uint64_t start = bench_ticks();
    switches(body, eager, n);
    return bench_since(start, (double)n);
}
static double lazy_switch(long n) { return switches_average(dispatched, false, n); }
static double lazy_switch_no_dispatch(long n) { return switches_average(undispatched, false, n); }
static double eager_switch(long n) { return switches_average(dispatched, true, n); }
static double eager_switch_no_dispatch(long n) { return switches_average(undispatched, true, n); }

// Table 3: from just before an async to just after it.
static void lazy_creation(void) {
    fin_finish {
        for (int i = 0; i < PIECE; i++) {
            uint64_t start = bench_ticks_fenced();
            fin_async_call(bench_body, NULL);
            sample(start);
        }
    }
}

static void eager_creation(void) {
    fin_finish {
        for (int i = 0; i < PIECE; i++) {
            uint64_t start = bench_ticks_fenced();
            fin_async_eager_call(bench_body, NULL);
            sample(start);
        }
    }
}

struct line {
    const char *name;
    void (*run)(void);
    int published[4]; // min, max, median, average; 0: not published
};

// All but a thousandth: the rest are interrupts, not the timer, and one by the host can be as much as all others together.
static struct statistics of_timer(void) {
    struct statistics s = all_of(timer);
    double sum = 0;
    int n = taken - taken / 1000;
    for (int i = 0; i < n; i++)
        sum += samples[i];
    s.max = samples[n - 1];
    s.average = sum / n;
    return s;
}

static void print_lines(const char *table, const char *title, const struct line *lines, size_t count, bool middle) {
    struct statistics overhead = of_timer();
    printf("\n%s [%s]\n", title, table);
    printf(
        "  the timer itself: %.0f to %.0f cycles, %.0f on average (published: 42 to 60, 51); it counts in steps of %.0f\n",
        overhead.min, overhead.max, overhead.average, resolution());
    printf("  %-24s %8s %8s %8s %8s   published\n", "", "min", "max", "median", "average");
    for (size_t i = 0; i < count; i++) {
        struct statistics s = less(all_of(lines[i].run), overhead);
        const int *p = lines[i].published;
        printf("  %-24s %8.0f %8.0f %8.0f %8.0f   min %d, max %d", lines[i].name, s.min, s.max, s.median, s.average, p[0],
               p[1]);
        if (middle)
            printf(", median %d, average %d", p[2], p[3]);
        printf("\n");
        bench_csv(table, lines[i].name, "min", s.min);
        bench_csv(table, lines[i].name, "max", s.max);
        bench_csv(table, lines[i].name, "median", s.median);
        bench_csv(table, lines[i].name, "average", s.average);
    }
    fflush(stdout);
}

static void table_5(void) {
    enum { N = 10000 };
    struct bench_row rows[] = {
        {"lazy: empty invocation", async_plain, N, "6"},
        {"lazy: empty invocation in async", async_call, N, "26"},
        {"lazy: blocking function (fin_yield)", create_call, N, "335"},
        {"lazy: blocking function (fin_yield_to)", create_yield_to, N, "326"},
        {"eager: empty invocation", async_plain, N, "6"},
        {"eager: empty invocation in async", async_eager_call, N, "74"},
        {"eager: blocking function (fin_yield)", create_eager_call, N, "330"},
        {"eager: blocking function (fin_yield_to)", create_eager_yield_to, N, "260"},
    };
    bench_table("ext5", "Extensions, table 5: creation and tear-down of an AWE (blocking: with its finish block)", "cycles",
                rows, BENCH_COUNT(rows));
}

void table_extensions(void) {
    enum { N = 10000 };
    struct bench_row averages[] = {
        {"lazy", lazy_switch, N, "95"},
        {"lazy (no dispatch)", lazy_switch_no_dispatch, N, "80"},
        {"eager", eager_switch, N, "83"},
        {"eager (no dispatch)", eager_switch_no_dispatch, N, "71"},
    };
    bench_table("ext1", "Extensions, table 1: context switch, average", "cycles", averages, BENCH_COUNT(averages));
    static const struct line bounds[] = {
        {"lazy", lazy_bounds, {90, 1712}},
        {"lazy (no dispatch)", lazy_bounds_no_dispatch, {79, 2814}},
        {"eager", eager_bounds, {74, 404}},
        {"eager (no dispatch)", eager_bounds_no_dispatch, {54, 316}},
    };
    print_lines("ext2", "Extensions, table 2: context switch, bounds", bounds, BENCH_COUNT(bounds), false);
    static const struct line creation[] = {
        {"lazy", lazy_creation, {4, 96, 8, 7}},
        {"eager", eager_creation, {20, 1920, 26, 24}},
    };
    print_lines("ext3", "Extensions, table 3: creation of an AWE", creation, BENCH_COUNT(creation), true);
    table_5();
}

// SPDX-License-Identifier: BSD-2-Clause
// A computation that messages come to at random moments (htm 6.2, 6.3): it sums numbers, and finds the messages by looking
// at all channels every so many additions, by alerts, or by the look at one word before each step of 1,000. What it costs,
// and how long a message takes from the sender's store to its handler, with 1, 10 and 100 channels; of a thread, and as of
// another process.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fin.h>

#include "rows.h"

enum { MOST = 100, ADDITIONS = 10000000, STEP = 1000, CHUNK = 5, ALERTS = -1, STEPS = -2 };
enum { REPETITIONS = 41, FEW = 9, SLOW = 4, TRIES = 8, SAMPLES = 2000 };
enum { LEAST_PAUSE_NS = 50000, MORE_PAUSE_NS = 450000 };

static struct fin_chan *from[MOST], *to[MOST];
static struct fin_waitset *set;
static int channels;
static uint32_t over;
static double *latency;
static long samples;
// By itself: the sender's look at its line, or at the next, which is fetched along, would abort the step that writes it.
static struct {
    uint64_t sum;
    char rest[504];
} total __attribute__((aligned(512)));

static void got(uint64_t sent) {
    if (samples < SAMPLES)
        latency[samples++] = (double)(bench_ticks() - sent) * BENCH_CYCLES_PER_TICK;
}

static void handle(void *chan) {
    uint64_t sent;
    if (fin_chan_try_recv(chan, &sent, sizeof sent) == sizeof sent)
        got(sent);
}

static void look_at_all(void) {
    for (int i = 0; i < channels; i++)
        handle(to[i]);
}

static void serve(void *unused) {
    (void)unused;
    while (fin_waitset_dispatch_monitored(set) == 0) {
    }
}

// Some at a time, and each `count` is a multiple of that: what a compiler makes of a loop with an addition in each round can
// take longer in a transaction (add_constants in rtm.c).
__attribute__((noinline)) static void add(uint64_t first, uint64_t count) {
    uint64_t s = total.sum;
    for (uint64_t i = first; i < first + count; i += CHUNK)
        for (uint64_t k = 0; k < CHUNK; k++) {
            s += i;
            __asm__ volatile("" : "+r"(s)); // in a register: through memory it takes one cycle or two, as chance has it
        }
    total.sum = s;
}

struct step {
    uint64_t first;
};

static void add_step(void *step) {
    struct step *s = step;
    add(s->first, STEP);
    s->first += STEP;
}

static void compute(long every) {
    if (every == 0) {
        add(0, ADDITIONS);
    } else if (every > 0) {
        for (uint64_t i = 0; i < ADDITIONS; i += (uint64_t)every) {
            add(i, (uint64_t)every);
            look_at_all();
        }
    } else if (every == ALERTS) {
        fin_alert_enable();
        add(0, ADDITIONS);
        fin_alert_disable();
    } else {
        struct step s = {0};
        while (s.first < ADDITIONS)
            fin_monitored_step(add_step, &s);
    }
}

static double spent;
static bool disturbed;

// Of this thread's own time: what the machine gives to others meanwhile is no cost of ours.
static double own_cycles(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return ((double)t.tv_sec * 1e9 + (double)t.tv_nsec) * bench_ticks_per_ns * BENCH_CYCLES_PER_TICK;
}

static void near_side(void *every) {
    fin_finish_as(all) {
        if (*(long *)every < 0)
            fin_async_call(serve, NULL);
        double start = own_cycles();
        long preemptions = bench_preemptions();
        compute(*(long *)every);
        disturbed = bench_preemptions() != preemptions;
        spent = own_cycles() - start;
        __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
        fin_cancel_as(all);
    }
}

// Spins, since who sleeps is late; without messages where nobody looks for them.
static void far_side(void *every) {
    unsigned seed = 1;
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        seed = seed * 1664525u + 1013904223u;
        uint64_t until = fin_now() + LEAST_PAUSE_NS + seed % MORE_PAUSE_NS, sent;
        while (fin_now() < until && !__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        }
        sent = bench_ticks();
        if (*(long *)every != 0)
            fin_chan_try_send(from[seed / 64 % (unsigned)channels], &sent, sizeof sent);
    }
}

struct line {
    const char *name, *paper; // slowdown and latency in htm table 6.2, one channel
    long every;
    double times[REPETITIONS], slower[REPETITIONS], time, latency;
    double *latencies;
    long count;
    int repetitions;
};

static struct line lines[] = {
    {"polling never", "", 0},
    {"polling every 1,000,000", "0.38% 180,910,028", 1000000},
    {"polling every 100,000", "0.60%  20,673,991", 100000},
    {"polling every 10,000", "0.80%   1,890,584", 10000},
    {"polling every 1,000", "1.11%     191,297", 1000},
    {"polling every 100", "1.82%      21,094", 100},
    {"polling every 50", "2.49%      11,605", 50},
    {"polling every 25", "3.64%       6,637", 25},
    {"alerts (signal)", "1.06%       1,611", ALERTS},
    {"steps of 1,000", "", STEPS},
};
enum { LINES = sizeof lines / sizeof *lines };

static double median(double *values, long n) {
    bench_sort(values, (size_t)n);
    return n ? bench_at(values, (size_t)n, 0.5) : 0;
}

static void leave_none(void) {
    char p[MESSAGE];
    for (int i = 0; i < channels; i++)
        while (fin_chan_try_recv(to[i], p, sizeof p) >= 0) {
        }
}

// What takes many times as long shows in a few repetitions, and is disturbed in each.
static bool is_slow(const struct line *l) { return l->repetitions && l->times[0] > SLOW * lines[0].times[0]; }

static void run(struct line *l) {
    int most = is_slow(l) ? 1 : TRIES;
    latency = l->latencies + l->count;
    if (l->every < 0)
        BENCH_DID(fin_waitset_monitor(set));
    disturbed = true;
    for (int tries = 0; disturbed && tries < most; tries++) {
        samples = 0;
        over = 0;
        two_sides(near_side, far_side, &l->every, 1);
        leave_none();
    }
    int r = l->repetitions++;
    l->times[r] = spent;
    l->slower[r] = spent / lines[0].times[lines[0].repetitions - 1]; // of the same moment: the machine's speed changes
    l->count += samples;
    if (l->every < 0)
        fin_waitset_poll(set);
}

static void print(struct line *l, const char *table) {
    double slower = (median(l->slower, l->repetitions) - 1) * 100;
    printf("  %-26s %12.0f %9.2f%%", l->name, l->time, slower);
    if (l->count)
        printf(" %14.0f", l->latency);
    else
        printf(" %14s", "-");
    printf("   %s\n", channels == 1 ? l->paper : "");
    bench_csv(table, l->name, "slowdown_percent", slower);
    if (l->count)
        bench_csv(table, l->name, "latency_cycles", l->latency);
}

static void open_channels(bool processes) {
    BENCH_DID(fin_waitset_new(&set));
    for (int i = 0; i < channels; i++) {
        struct fin_chan *ends[2];
        if (processes)
            bench_chan_open(ends, 0);
        else
            BENCH_DID(fin_chan_pair(&ends[0], &ends[1], NULL));
        from[i] = ends[0];
        to[i] = ends[1];
        BENCH_DID(fin_waitset_add(set, to[i], handle, to[i]));
    }
}

static void close_channels(void) {
    fin_waitset_close(set);
    for (int i = 0; i < channels; i++) {
        fin_chan_close(from[i]);
        fin_chan_close(to[i]);
    }
}

void table_alerts(int n, bool processes) {
    char table[32];
    int repetitions = bench_options.quick ? FEW : REPETITIONS;
    channels = n;
    open_channels(processes);
    for (int i = 0; i < LINES; i++) {
        BENCH_GOT(lines[i].latencies = calloc(SAMPLES * REPETITIONS, sizeof(double)));
        lines[i].count = lines[i].repetitions = 0;
    }
    for (int r = 0; r < repetitions; r++)
        for (int i = 0; i < LINES; i++)
            if (r < FEW || !is_slow(&lines[i]))
                run(&lines[i]);
    snprintf(table, sizeof table, "alerts%s%d", processes ? "-processes" : "", n);
    printf("\n%d additions, and messages every 50 to 500 us", ADDITIONS);
    printf(processes ? " as of another process by %d channel" : " on %d channel", n);
    printf("%s: cycles, slowdown, median latency in cycles%s\n", n == 1 ? "" : "s", n == 1 ? "; the paper's" : "");
    for (int i = 0; i < LINES; i++) {
        lines[i].time = median(lines[i].times, lines[i].repetitions);
        lines[i].latency = median(lines[i].latencies, lines[i].count);
        print(&lines[i], table);
        free(lines[i].latencies);
    }
    close_channels();
}

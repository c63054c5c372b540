// SPDX-License-Identifier: BSD-2-Clause
// A million AWEs blocked in one finish block, against Boost.Fiber, Go, Tokio and Boost.Asio, and spawn-and-join of one that
// does nothing. Each run is a process of its own, so that memory is its own: Fin's is this program under another name, the
// others are in bench/rivals. Where their programs are not built, they are skipped.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <fin.h>

#include "../memory.h"
#include "rows.h"

enum { ROUNDS = 3, QUICK_ROUNDS = 1, RIVALS = 5, SPAWNS = 100000 };

static long peak_kib(void) { return memory_kib("VmHWM:"); }

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void waits(void *slot) { fin_suspend(slot); }

// The program under its other names: prints what the rivals print.
static int million_here(long n) {
    struct fin_awe **slots;
    BENCH_GOT(slots = malloc((size_t)n * sizeof *slots));
    long before = peak_kib(), peak = 0;
    double start = now_ns(), created = 0;
    fin_finish {
        for (long i = 0; i < n; i++)
            fin_async_call(waits, &slots[i]);
        created = now_ns() - start;
        peak = peak_kib();
        start = now_ns();
        for (long i = 0; i < n; i++)
            fin_schedule(slots[i]);
    }
    printf("%.0f %.0f %ld\n", created, now_ns() - start, peak - before);
    free(slots);
    return 0;
}

static int spawn_here(long n) {
    double start = now_ns();
    for (long i = 0; i < n; i++) {
        fin_finish {
            fin_async_call(bench_body, NULL);
        }
    }
    printf("%f\n", (now_ns() - start) / (double)n);
    return 0;
}

int million_child(int argc, char **argv) {
    long n = argc > 2 ? strtol(argv[2], NULL, 10) : 1000;
    return strcmp(argv[1], "million") == 0 ? million_here(n) : spawn_here(n);
}

static const struct {
    const char *name, *program, *published;
    long kib; // of memory that each task takes at most
} rivals[RIVALS] = {
    {"Fin", NULL, "", 5},         {"Boost.Fiber", "boost-fiber", "", 12},   {"Go", "go", "1040", 4},
    {"Tokio", "tokio", "800", 1}, {"Boost.Asio coroutines", "asio", "", 2},
};

static double middle(double *values, int n) {
    bench_sort(values, (size_t)n);
    return bench_at(values, (size_t)n, 0.5);
}

static void print_million(const char *name, double values[3][ROUNDS], int rounds, long n) {
    double created = middle(values[0], rounds) / 1e9, finished = middle(values[1], rounds) / 1e9;
    double kib = middle(values[2], rounds), total = created + finished;
    bool noisy = bench_noisy(created, values[0][0] / 1e9, values[0][rounds - 1] / 1e9); // sorted by now
    printf("  %-24s %9.2f%s %10.2f %10.2f %10.0f %12.0f\n", name, created, noisy ? "~" : " ", finished, total, kib / 1024,
           kib * 1024 / (double)n);
    bench_csv("million", name, "create_s", created);
    bench_csv("million", name, "finish_s", finished);
    bench_csv("million", name, "peak_kib", kib);
    fflush(stdout);
}

// One that failed once is not run again.
static char failed[RIVALS][100];

static bool runs(int i, const char *what, long n, long kib, double *v, int count) {
    const char *why = "not enough free memory";
    if (failed[i][0])
        return false;
    if (memory_available_kib() > kib)
        why = bench_rival(rivals[i].program, what, n, v, count);
    snprintf(failed[i], sizeof failed[i], "%s", why ? why : "");
    return !why;
}

static void million(void) {
    long n = bench_options.quick ? 100000 : 1000000;
    int rounds = bench_options.quick ? QUICK_ROUNDS : ROUNDS;
    static double values[RIVALS][3][ROUNDS];
    memset(failed, 0, sizeof failed);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < RIVALS; i++) {
            double v[3];
            bool ran = runs(i, "million", n, n * rivals[i].kib, v, 3);
            for (int k = 0; k < 3 && ran; k++)
                values[i][k][round] = v[k];
        }
    printf("\n%ld tasks created, blocked, and finished, on one thread; median of %d [million]\n", n, rounds);
    printf("  %-24s %10s %10s %10s %10s %12s\n", "", "create s", "finish s", "total s", "peak MiB", "bytes a task");
    for (int i = 0; i < RIVALS; i++)
        if (failed[i][0])
            bench_skip(rivals[i].name, failed[i]);
        else
            print_million(rivals[i].name, values[i], rounds, n);
}

static void spawn(void) {
    int rounds = bench_options.quick ? QUICK_ROUNDS : ROUNDS;
    double values[RIVALS][ROUNDS];
    memset(failed, 0, sizeof failed);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < RIVALS; i++)
            runs(i, "spawn", SPAWNS, 0, &values[i][round], 1);
    printf("\nSpawn and join of a task that does nothing: cycles; median of %d [spawn]\n", rounds);
    printf("  %-24s %10s   published\n", "", "cycles");
    for (int i = 0; i < RIVALS; i++) {
        if (failed[i][0]) {
            bench_skip(rivals[i].name, failed[i]);
            continue;
        }
        double cycles = middle(values[i], rounds) * bench_ticks_per_ns * BENCH_CYCLES_PER_TICK;
        printf("  %-24s %10.1f   %s\n", rivals[i].name, cycles, rivals[i].published);
        bench_csv("spawn", rivals[i].name, "cycles", cycles);
    }
    printf("  published besides: libdill 190, Photon 250\n");
    fflush(stdout);
}

void table_million(void) {
    million();
    spawn();
}

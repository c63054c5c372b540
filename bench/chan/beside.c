// SPDX-License-Identifier: BSD-2-Clause
// Round trips between two processors on each of which another thread computes all the time: how long they take, and how much
// of the computation is done meanwhile, of what is done without them. Who only looks has the processor for half of the time,
// but when it is not his turn he is late; who sleeps at once leaves it to the computation.
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <fin/time.h>

#include "rows.h"

enum { SIDES = 2, REPETITIONS = 15, QUICK = 5, ADDITIONS = 1000 };
static const uint64_t ALONE = 100 * FIN_MS;

static struct {
    uint64_t done;
} __attribute__((aligned(128))) work[SIDES];
static uint32_t over;

static void *compute(void *side) {
    int s = (int)(intptr_t)side;
    bench_pin(s);
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < ADDITIONS; i++)
            __asm__ volatile("" : "+r"(sum));
        __atomic_store_n(&work[s].done, work[s].done + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static uint64_t done(void) {
    uint64_t sum = 0;
    for (int s = 0; s < SIDES; s++)
        sum += __atomic_load_n(&work[s].done, __ATOMIC_RELAXED);
    return sum;
}

static double sleeps(long n) {
    struct timespec t = {.tv_nsec = (long)ALONE};
    nanosleep(&t, NULL);
    return (double)(0 * n);
}

struct line {
    const char *name;
    double (*trip)(long n);
    long n;
    double cycles[REPETITIONS], left[REPETITIONS];
};

static struct line lines[] = {
    {"", sleeps, 0}, // how much is done alone
    {"bare: a cache line each way, by hand", trip_bare, 10000},
    {"fin_chan between threads", trip_pair, 2000},
    {"fin_chan, a receiver that sleeps", trip_asleep, 200},
    {"futex", trip_futex, 1000},
    {"pipe", trip_pipe, 1000},
};
enum { LINES = sizeof lines / sizeof *lines };

static void run(struct line *l, int k, double *alone) {
    uint64_t before = done(), start = bench_ticks();
    l->cycles[k] = l->trip(l->n);
    double rate = (double)(done() - before) / (double)(bench_ticks() - start);
    if (l->n == 0)
        *alone = rate;
    l->left[k] = 100 * rate / *alone;
}

void table_beside(void) {
    pthread_t t[SIDES];
    int times = bench_options.quick ? QUICK : REPETITIONS;
    double alone = 0;
    over = 0;
    for (int s = 0; s < SIDES; s++)
        BENCH_DID(-pthread_create(&t[s], NULL, compute, (void *)(intptr_t)s));
    for (int k = 0; k < times; k++)
        for (int i = 0; i < LINES; i++)
            run(&lines[i], k, &alone);
    over = 1;
    for (int s = 0; s < SIDES; s++)
        pthread_join(t[s], NULL);
    printf("\nround trips between two processors on which others compute [beside]: cycles, least and greatest of %d, "
           "computation left\n",
           times);
    for (int i = 1; i < LINES; i++) {
        struct line *l = &lines[i];
        bench_sort(l->cycles, (size_t)times);
        bench_sort(l->left, (size_t)times);
        double cycles = bench_at(l->cycles, (size_t)times, 0.5), left = bench_at(l->left, (size_t)times, 0.5);
        double low, high;
        bench_range(l->cycles, (size_t)times, &low, &high);
        printf("  %-40s %12.0f %12.0f-%-12.0f %6.1f%%\n", l->name, cycles, low, high, left);
        bench_csv("beside", l->name, "cycles", cycles);
        bench_csv("beside", l->name, "left_percent", left);
    }
}

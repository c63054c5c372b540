// SPDX-License-Identifier: BSD-2-Clause
// Idle work (continuations, table 3): bytes per waiting AWE, and the time to make each and to wake every one once. Each row
// is measured three times, each time in a process of its own, and has the medians: a single sample of the time to wake ten
// million was 30 ns in one report and 64 in the next, with 2% more instructions. Rivals are programs of their own.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fin.h>

#include "../memory.h"
#include "rows.h"

static struct fin_awe **slots;
static long woken;

static void ends(void *p, int result) {
    (void)result;
    woken += *(long *)p;
    fin_cont_end();
}

static void makes_itself_known(struct fin_awe *a, void *slot) { *(struct fin_awe **)slot = a; }

static void waits_explicitly(void *slot) {
    long one = 1;
    fin_block_on_then(ends, &one, sizeof one, makes_itself_known, slot);
}

// For an object of fin/sync.h: what the wait takes besides the AWE is in the program's memory.
static struct fin_sem sem = FIN_SEM_INIT(0);
static struct fin_sync_on *waits;

static void waits_for_sync(void *slot) {
    long one = 1;
    fin_sem_wait_on(&sem, &waits[(struct fin_awe **)slot - slots], ends, &one, sizeof one);
}

static void waits_with_a_stack(void *slot) {
    fin_suspend(slot);
    woken++;
}

static double ns(void) { return (double)bench_ticks() / bench_ticks_per_ns; }

static long resident(void) { return memory_kib("VmRSS:") * 1024; }

struct measure {
    double bytes, make, wake; // ns
};

static struct measure of_awes(long n, void (*body)(void *)) {
    struct measure m = {0};
    slots = malloc((size_t)n * sizeof *slots);
    waits = malloc(body == waits_for_sync ? (size_t)n * sizeof *waits : 1); // counted: it is touched below
    if (!slots || !waits)
        return m;
    memset(slots, 1, (size_t)n * sizeof *slots); // its pages are not counted
    long before = resident();
    double start = ns();
    fin_finish {
        for (long i = 0; i < n; i++)
            fin_async_call(body, &slots[i]);
        m.make = (ns() - start) / (double)n;
        m.bytes = (double)(resident() - before) / (double)n;
        start = ns();
        for (long i = 0; i < n; i++)
            if (body == waits_for_sync)
                fin_sem_post(&sem);
            else
                fin_schedule(slots[i]);
    }
    m.wake = (ns() - start) / (double)n;
    return woken == n ? m : (struct measure){0};
}

static struct measure of_coroutines(long n, int depth) {
    struct measure m;
    long before = resident();
    double start = ns();
    coroutines_wait(n, depth);
    m.make = (ns() - start) / (double)n;
    m.bytes = (double)(resident() - before) / (double)n - 2 * sizeof(void *); // the lists that they are kept in
    start = ns();
    coroutines_wake();
    m.wake = (ns() - start) / (double)n;
    return m;
}

static const struct row {
    const char *name;
    long n;
    void (*body)(void *);
    int depth;
    const char *rival;
} rows[] = {
    {"explicit AWEs", 1000000, waits_explicitly, 0, NULL},
    {"explicit AWEs, ten million", 10000000, waits_explicitly, 0, NULL},
    {"explicit AWEs, for a semaphore", 1000000, waits_for_sync, 0, NULL},
    {"AWEs with stacks", 1000000, waits_with_a_stack, 0, NULL},
    {"C++20 coroutines, depth one", 1000000, NULL, 1, NULL},
    {"C++20 coroutines, depth three", 1000000, NULL, 3, NULL},
    {"Tokio tasks", 1000000, NULL, 0, "tokio"},
    {"Boost.Asio coroutines, a timer each", 1000000, NULL, 0, "asio"},
    {"goroutines", 1000000, NULL, 0, "go"},
    {"Boost.Fiber", 1000000, NULL, 0, "boost-fiber"},
};

static bool of_rival(const struct row *r, struct measure *m) {
    double v[3], n = (double)(bench_options.quick ? r->n / 10 : r->n);
    if (!bench_rival(r->rival, "million", (long)n, v, 3))
        return false;
    *m = (struct measure){v[2] * 1024 / n, v[0] / n, v[1] / n};
    return true;
}

static bool measure(const struct row *r, struct measure *m) {
    int ends_[2], status;
    if (r->rival)
        return of_rival(r, m);
    if (pipe(ends_) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        long n = bench_options.quick ? r->n / 10 : r->n;
        *m = r->body ? of_awes(n, r->body) : of_coroutines(n, r->depth);
        _exit(write(ends_[1], m, sizeof *m) != sizeof *m);
    }
    close(ends_[1]);
    bool ok = child > 0 && read(ends_[0], m, sizeof *m) == sizeof *m;
    close(ends_[0]);
    if (child > 0)
        waitpid(child, &status, 0);
    return ok;
}

enum { ROUNDS = 3 };

// Each round measures every row once, so that what disturbs meets all alike.
static void measure_all(struct measure m[BENCH_COUNT(rows)][ROUNDS], int rounds) {
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < BENCH_COUNT(rows); i++)
            if (!measure(&rows[i], &m[i][round]))
                m[i][round].make = 0;
}

static double median(const struct measure *m, int rounds, size_t field) {
    double v[ROUNDS];
    for (int i = 0; i < rounds; i++)
        memcpy(&v[i], (const char *)&m[i] + field, sizeof v[i]);
    bench_sort(v, (size_t)rounds);
    return bench_at(v, (size_t)rounds, 0.5);
}

static bool complete(const struct measure *m, int rounds) {
    for (int i = 0; i < rounds; i++)
        if (m[i].make == 0)
            return false;
    return true;
}

void table_idle(void) {
    static struct measure of[BENCH_COUNT(rows)][ROUNDS];
    static const char *const names[] = {"bytes", "make_ns", "wake_ns"};
    int rounds = bench_options.quick ? 1 : ROUNDS;
    measure_all(of, rounds);
    printf("\nIdle work: bytes each, ns to make one, ns to wake one (million each, or as said)\n");
    printf("  %-34s%10s%10s%10s\n", "", "bytes", "make", "wake");
    for (size_t i = 0; i < BENCH_COUNT(rows); i++) {
        if (!complete(of[i], rounds)) {
            bench_skip(rows[i].name, rows[i].rival ? BENCH_NO_RIVAL : "no memory for so many");
            continue;
        }
        double v[] = {median(of[i], rounds, offsetof(struct measure, bytes)),
                      median(of[i], rounds, offsetof(struct measure, make)),
                      median(of[i], rounds, offsetof(struct measure, wake))};
        printf("  %-34s%10.0f%10.1f%10.1f\n", rows[i].name, v[0], v[1], v[2]);
        for (size_t f = 0; f < BENCH_COUNT(names); f++)
            bench_csv("idle", rows[i].name, names[f], v[f]);
    }
}

// SPDX-License-Identifier: BSD-2-Clause
// Idle work (continuations, table 3): bytes per waiting AWE, and the time to make each and to wake every one once. Each row
// is measured three times, each time in a process of its own, and has the medians: a single sample of the time to wake ten
// million was 30 ns in one report and 64 in the next, with 2% more instructions. Rivals are programs of their own.
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fin.h>

#include "../memory.h"
#include "idle_waits.h"
#include "rows.h"

static double ns(void) { return (double)bench_ticks() / bench_ticks_per_ns; }

static long resident(void) { return memory_kib("VmRSS:") * 1024; }

struct measure {
    double bytes, make, wake; // ns
};

static struct measure of_awes(long n, const struct idle_wait *w) {
    struct measure m = {0};
    n = w->begin ? w->begin(n) : n;
    idle_waits_begin(w, n);
    long before = resident();
    double start = ns();
    fin_finish {
        for (long i = 0; i < n; i++)
            fin_async_call(w->body, idle_slot(i));
        m.make = (ns() - start) / (double)n;
        m.bytes = (double)(resident() - before) / (double)n;
        start = ns();
        w->wake(n);
    }
    m.wake = (ns() - start) / (double)n;
    BENCH_MUST(idle_woken == n);
    return m;
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

enum { MANY = 1000000, SOME = 100000 };

static const struct row {
    const char *name;
    long n;
    const struct idle_wait *wait;
    int depth;
    const char *rival;
    int base; // 1 + the row of those that wait for the same with stacks
} rows[] = {
    {"AWEs with stacks", MANY, &stack_plainly},
    {"explicit AWEs", MANY, &waits_plainly, .base = 1},
    {"explicit AWEs, ten million", 10 * MANY, &waits_plainly, .base = 1},
    {"AWEs with stacks, for a semaphore", MANY, &stack_for_sem},
    {"explicit AWEs, for a semaphore", MANY, &waits_for_sem, .base = 4},
    {"AWEs with stacks, in fin_recv", SOME, &stack_in_recv},
    {"explicit AWEs, in fin_recv_on", SOME, &waits_in_recv, .base = 6},
    {"AWEs with stacks, in fin_chan_recv", SOME, &stack_in_chan},
    {"explicit AWEs, in fin_chan_recv_on", SOME, &waits_in_chan, .base = 8},
    {"AWEs with stacks, in fin_rpc_accept", SOME, &stack_in_rpc},
    {"explicit AWEs, in fin_rpc_accept_on", SOME, &waits_in_rpc, .base = 10},
    {"C++20 coroutines, depth one", MANY, .depth = 1},
    {"C++20 coroutines, depth three", MANY, .depth = 3},
    {"Tokio tasks", MANY, .rival = "tokio"},
    {"Boost.Asio coroutines, a timer each", MANY, .rival = "asio"},
    {"goroutines", MANY, .rival = "go"},
    {"Boost.Fiber", MANY, .rival = "boost-fiber"},
};

static char failed[BENCH_COUNT(rows)][100]; // why a row has no figures

enum { STACK_KIB = 5 }; // of memory that one takes with a stack, at most; others take one

static void of_rival(const struct row *r, struct measure *m) {
    double v[3], n = (double)(bench_options.quick ? r->n / 10 : r->n);
    const char *why = bench_rival(r->rival, "million", (long)n, v, 3);
    if (why)
        snprintf(failed[r - rows], sizeof failed[0], "%s", why);
    else
        *m = (struct measure){v[2] * 1024 / n, v[0] / n, v[1] / n};
}

// What failed in the child it has said itself.
static void of_child(const struct row *r, struct measure *m) {
    int ends_[2], status;
    char why[40];
    bool stacks = strstr(r->name, "with stacks") != NULL;
    if (memory_available_kib() < r->n / (bench_options.quick ? 10 : 1) * (stacks ? STACK_KIB : 1)) {
        snprintf(failed[r - rows], sizeof failed[0], "not enough free memory");
        return;
    }
    BENCH_SYS(pipe(ends_));
    pid_t child = (pid_t)BENCH_SYS(fork());
    if (child == 0) {
        long n = bench_options.quick ? r->n / 10 : r->n;
        *m = r->wait ? of_awes(n, r->wait) : of_coroutines(n, r->depth);
        _exit(write(ends_[1], m, sizeof *m) != sizeof *m);
    }
    close(ends_[1]);
    bool ok = read(ends_[0], m, sizeof *m) == sizeof *m;
    close(ends_[0]);
    BENCH_SYS(waitpid(child, &status, 0));
    if (ok && status == 0)
        return;
    snprintf(why, sizeof why, "ended %s %d", WIFSIGNALED(status) ? "by signal" : "with status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    bench_failed(why, r->name, 0, 0);
}

enum { ROUNDS = 3 };
static const double AIM = 0.05; // of the bytes of one with a stack

// Each round measures every row once, so that what disturbs meets all alike.
static void measure_all(struct measure m[BENCH_COUNT(rows)][ROUNDS], int rounds) {
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < BENCH_COUNT(rows); i++)
            if (failed[i][0])
                continue;
            else if (rows[i].rival)
                of_rival(&rows[i], &m[i][round]);
            else
                of_child(&rows[i], &m[i][round]);
}

static double median(const struct measure *m, int rounds, size_t field) {
    double v[ROUNDS];
    for (int i = 0; i < rounds; i++)
        memcpy(&v[i], (const char *)&m[i] + field, sizeof v[i]);
    bench_sort(v, (size_t)rounds);
    return bench_at(v, (size_t)rounds, 0.5);
}

static double bytes_of(const struct measure *m, int rounds) { return median(m, rounds, offsetof(struct measure, bytes)); }

// Of what the same wait takes with a stack; NAN: nobody knows.
static double part_of(size_t row, struct measure of[][ROUNDS], int rounds) {
    int base = rows[row].base - 1;
    return failed[base][0] ? NAN : bytes_of(of[row], rounds) / bytes_of(of[base], rounds);
}

static void print_target(size_t row, struct measure of[][ROUNDS], int rounds) {
    double part = rows[row].base ? part_of(row, of, rounds) : NAN;
    if (isnan(part))
        return;
    printf("%10.1f%%  <= %.0f%%  %s", 100 * part, 100 * AIM, part <= AIM ? "met" : "MISSED");
    bench_csv("idle", rows[row].name, "times_base", part);
    bench_csv("idle", rows[row].name, "met", part <= AIM);
}

void table_idle(void) {
    static struct measure of[BENCH_COUNT(rows)][ROUNDS];
    static const char *const names[] = {"bytes", "make_ns", "wake_ns"};
    int rounds = bench_options.quick ? 1 : ROUNDS;
    measure_all(of, rounds);
    printf("\nIdle work: bytes each, ns to make one, ns to wake one (million each, or as said; in a receive 100,000, of "
           "connections as many as may be open%s)\n",
           bench_options.quick ? "; all of it a tenth as many" : "");
    printf("  %-38s%10s%10s%10s%11s  target\n", "", "bytes", "make", "wake", "of a stack");
    for (size_t i = 0; i < BENCH_COUNT(rows); i++) {
        if (failed[i][0]) {
            bench_skip(rows[i].name, failed[i]);
            continue;
        }
        double v[] = {bytes_of(of[i], rounds), median(of[i], rounds, offsetof(struct measure, make)),
                      median(of[i], rounds, offsetof(struct measure, wake))};
        printf("  %-38s%10.0f%10.1f%10.1f", rows[i].name, v[0], v[1], v[2]);
        print_target(i, of, rounds);
        printf("\n");
        for (size_t f = 0; f < BENCH_COUNT(names); f++)
            bench_csv("idle", rows[i].name, names[f], v[f]);
    }
}

// SPDX-License-Identifier: BSD-2-Clause
// A null call over a channel between two processes (continuations, tables 4 and 5): a server for each kind. Where nobody
// computes meanwhile an answer is found before anybody sleeps, and a wait gives no stack up. So there are rows in which
// somebody does. Of several callers, each with a channel of its own, those who wait hand their stack to the next.
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "sides.h"

enum { CALLERS = 8 };

static struct far {
    double (*run)(long);
    const struct way *way;
    int callers, pauses;     // of each call, one after the other
    int sockets[CALLERS][2]; // a channel's each
    pid_t server;
    struct end ends[CALLERS];
    struct fin_stats before, after; // of the last repetition, here
} fars[] = {
    {there_with_stacks, &stacks_in_one, 1, 0},
    {there_in_set, &explicit_in_set, 1, 0},
    {there_in_one, &explicit_in_one, 1, 0},
    {there_many_stacks, &stacks_in_one, CALLERS, 0},
    {there_many_in_one, &explicit_in_one, CALLERS, 0},
    {asleep_with_stacks, &stacks_asleep, 1, 2},
    {asleep_in_set, &set_asleep, 1, 2},
    {asleep_in_one, &explicit_asleep, 1, 2},
    {asleep_many_stacks, &stacks_behind, CALLERS, 1},
    {asleep_many_in_one, &explicit_behind, CALLERS, 1},
};

static void run_all(struct far *f, void (*body)(void *), fin_cont *cont) {
    fin_finish {
        for (int i = 0; i < f->callers; i++)
            BEGIN_SIDE(body, cont, &f->ends[i]);
    }
}

static bool over;

static void gives_turns(void *unused) {
    (void)unused;
    while (!over && lock_step_turn())
        fin_yield();
}

// All the AWEs of one side.
static void run_sides(struct far *f, void (*body)(void *), fin_cont *cont) {
    over = f->callers == 1;
    if (over) { // without a block more, which would cost
        run_all(f, body, cont);
        return;
    }
    fin_finish {
        fin_async_call(gives_turns, NULL);
        run_all(f, body, cont);
        over = true;
    }
}

static void serve_far(struct far *f) {
    for (int i = 0; i < f->callers; i++)
        BENCH_DID(fin_chan_take(&f->ends[i].chan, f->sockets[i][1], 0));
    run_sides(f, f->way->serves, f->way->serves_on);
}

static void begin_server(struct far *f) {
    for (int i = 0; i < f->callers; i++)
        BENCH_SYS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, f->sockets[i]));
    f->server = (pid_t)BENCH_SYS(fork());
    for (int i = 0; i < f->callers; i++)
        close(f->sockets[i][f->server != 0]);
    if (f->server == 0) {
        lock_step_child();
        serve_far(f);
        lock_step_end();
        _exit(0);
    }
}

bool far_possible(void) {
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) > 1;
}

void far_begin(void) {
    for (size_t i = 0; far_possible() && i < BENCH_COUNT(fars); i++)
        begin_server(&fars[i]);
}

static double there(long n, struct far *f) {
    uint64_t start;
    n /= f->callers;
    for (int i = 0; i < f->callers; i++) {
        if (!f->ends[i].chan)
            BENCH_DID(fin_chan_offer(&f->ends[i].chan, f->sockets[i][0], NULL));
        f->ends[i].left = n;
        f->ends[i].got = 0;
    }
    fin_stats(&f->before);
    start = bench_ticks();
    run_sides(f, f->way->calls, f->way->calls_on);
    double pauses = f->pauses * (double)PAUSE_NS * bench_ticks_per_ns * BENCH_CYCLES_PER_TICK;
    double result = bench_since(start, (double)(n * f->callers)) - pauses;
    fin_stats(&f->after);
    return result;
}

static struct far *far_of(double (*run)(long)) {
    for (size_t i = 0; i < BENCH_COUNT(fars); i++)
        if (fars[i].run == run)
            return &fars[i];
    return NULL;
}

double there_with_stacks(long n) { return there(n, far_of(there_with_stacks)); }
double there_in_set(long n) { return there(n, far_of(there_in_set)); }
double there_in_one(long n) { return there(n, far_of(there_in_one)); }
double there_many_stacks(long n) { return there(n, far_of(there_many_stacks)); }
double there_many_in_one(long n) { return there(n, far_of(there_many_in_one)); }
double asleep_with_stacks(long n) { return there(n, far_of(asleep_with_stacks)); }
double asleep_in_set(long n) { return there(n, far_of(asleep_in_set)); }
double asleep_in_one(long n) { return there(n, far_of(asleep_in_one)); }
double asleep_many_stacks(long n) { return there(n, far_of(asleep_many_stacks)); }
double asleep_many_in_one(long n) { return there(n, far_of(asleep_many_in_one)); }

bool far_counted(double (*run)(long), struct fin_stats *before, struct fin_stats *after) {
    const struct far *f = far_of(run);
    if (f) {
        *before = f->before;
        *after = f->after;
    }
    return f;
}

// Of two processes both are to have ended, so that what counts in each has written what it counted.
bool far_only(double (*run)(long), long n) {
    struct far *f = far_of(run);
    begin_server(f);
    run(n);
    lock_step_end();
    for (int i = 0; i < f->callers; i++) {
        fin_chan_close(f->ends[i].chan);
        if (f->ends[i].set)
            fin_waitset_close(f->ends[i].set);
    }
    return waitpid(f->server, NULL, 0) == f->server;
}

// SPDX-License-Identifier: BSD-2-Clause
// How long it takes from a store on one processor until the other, which does something else, runs what is to be done then:
// where it looks all the time, where the line is in a transaction's read set, and where a signal is sent.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fin.h>

#include "rows.h"
#include "rtm.h"

enum { PAUSE_NS = 2000, MORE_PAUSES = 16 }; // the other side waits again by then

static struct {
    uint64_t sent; // when
} __attribute__((aligned(128))) line;
static struct {
    uint64_t taken; // how many
} __attribute__((aligned(128))) answers;
static uint64_t late; // all together
static pid_t near_thread;

static void pause_until_taken(uint64_t count) {
    while (__atomic_load_n(&answers.taken, __ATOMIC_ACQUIRE) != count) {
    }
    uint64_t until = fin_now() + PAUSE_NS + count % MORE_PAUSES * 100;
    while (fin_now() < until) {
    }
}

static void far_stores(void *n) {
    for (uint64_t i = 0; i < *(uint64_t *)n; i++) {
        pause_until_taken(i);
        __atomic_store_n(&line.sent, bench_ticks(), __ATOMIC_RELEASE);
    }
}

static void far_signals(void *n) {
    for (uint64_t i = 0; i < *(uint64_t *)n; i++) {
        pause_until_taken(i);
        __atomic_store_n(&line.sent, bench_ticks(), __ATOMIC_RELEASE);
        BENCH_SYS(syscall(SYS_tgkill, getpid(), near_thread, SIGUSR1));
    }
}

// Returns when it ran, after the store that `before` is not.
static uint64_t look(uint64_t before) {
    while (__atomic_load_n(&line.sent, __ATOMIC_ACQUIRE) == before) {
    }
    return bench_ticks();
}

// What else aborts it finds nothing there.
static uint64_t aborted(uint64_t before) {
    for (;;) {
        if (fin_rtm_begin() == FIN_RTM_STARTED) {
            while (__atomic_load_n(&line.sent, __ATOMIC_RELAXED) == before)
                for (;;)
                    __asm__ volatile("nop");
            fin_rtm_abort();
        }
        uint64_t now = bench_ticks();
        if (__atomic_load_n(&line.sent, __ATOMIC_ACQUIRE) != before)
            return now;
    }
}

static void take(uint64_t (*await)(uint64_t), uint64_t n) {
    uint64_t before = 0;
    for (uint64_t i = 1; i <= n; i++) {
        uint64_t now = await(before);
        before = __atomic_load_n(&line.sent, __ATOMIC_ACQUIRE);
        late += now - before;
        __atomic_store_n(&answers.taken, i, __ATOMIC_RELEASE);
    }
}

static void near_looks(void *n) { take(look, *(uint64_t *)n); }
static void near_aborts(void *n) { take(aborted, *(uint64_t *)n); }

static void signalled(int signal) {
    (void)signal;
    late += bench_ticks() - __atomic_load_n(&line.sent, __ATOMIC_ACQUIRE);
    __atomic_store_n(&answers.taken, answers.taken + 1, __ATOMIC_RELEASE);
}

static void near_runs(void *n) {
    while (__atomic_load_n(&answers.taken, __ATOMIC_RELAXED) != *(uint64_t *)n) {
    }
}

static double interrupts(void (*near)(void *), void (*far)(void *), long n) {
    line.sent = answers.taken = late = 0;
    two_sides(near, far, &n, n);
    return (double)late * BENCH_CYCLES_PER_TICK / (double)n;
}

static double by_look(long n) { return interrupts(near_looks, far_stores, n); }
static double by_abort(long n) { return interrupts(near_aborts, far_stores, n); }

static double by_signal(long n) {
    struct sigaction now = {.sa_handler = signalled, .sa_flags = SA_RESTART}, before;
    sigemptyset(&now.sa_mask);
    near_thread = (pid_t)syscall(SYS_gettid);
    BENCH_SYS(sigaction(SIGUSR1, &now, &before));
    double result = interrupts(near_runs, far_signals, n);
    sigaction(SIGUSR1, &before, NULL);
    return result;
}

void table_interrupts(void) {
    struct bench_row rows[] = {
        {"to who looks all the time", by_look, 20},
        {"to a signal's handler", by_signal, 20, "14,000", 1},
        {"to a transaction's abort handler", by_abort, 20, "222", 1},
    };
    bench_table("interrupts", "from a store on one processor to what the other does then", "cycles", rows,
                fin_rtm_works() ? BENCH_COUNT(rows) : BENCH_COUNT(rows) - 1);
    if (!fin_rtm_works())
        bench_skip("a transaction's abort handler", "this processor has no RTM, or none of its transactions commits");
}

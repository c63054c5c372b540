// SPDX-License-Identifier: BSD-2-Clause
// Other threads wake AWEs that wait with a continuation, also against cancellation: each wait has one end, none is lost.
#include <sched.h>
#include <string.h>

#include <fin.h>

#include "check.h"

enum { AWES = 16 };
static long rounds = 20000;

struct cell {
    struct fin_awe *waits; // for the waker, who takes it
    long woken, taken;
};
static struct cell cells[AWES];
static bool stop;

static void publish(struct fin_awe *a, void *cell) { __atomic_store_n(&((struct cell *)cell)->waits, a, __ATOMIC_RELEASE); }

static void turn(void *p, int result) {
    struct cell *c = *(struct cell **)p;
    CHECK_EQ(result, 0);
    if (++c->woken == rounds)
        fin_cont_end();
    fin_block_on_then(turn, p, sizeof c, publish, c);
}

static void waker(void *arg) {
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        for (int i = 0; i < AWES; i++) {
            struct fin_awe *a = __atomic_exchange_n(&cells[i].waits, NULL, __ATOMIC_ACQUIRE);
            if (a) {
                cells[i].taken++;
                CHECK_EQ(fin_schedule(a), 0);
            }
        }
    }
}

static void all_are_woken(void) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, waker, NULL), 0);
    fin_finish {
        for (int i = 0; i < AWES; i++) {
            struct cell *c = &cells[i];
            c->woken = -1; // its start
            fin_async_cont(turn, &c, sizeof c);
        }
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    fin_thread_join_nc(&t);
    for (int i = 0; i < AWES; i++) {
        CHECK_EQ(cells[i].woken, rounds);
        CHECK_EQ(cells[i].taken, rounds);
    }
}

// One wait each, a wake-up from elsewhere and a cancel at the same time: the continuation runs once, with either result.
static struct fin_awe *victim;
static long ran, won;

static void once(void *p, int result) {
    (void)p;
    ran++;
    won += result == 0;
    fin_cont_end();
}

static void expose(struct fin_awe *a, void *arg) {
    (void)arg;
    __atomic_store_n(&victim, a, __ATOMIC_RELEASE);
}

static void begin(void *p, int result) {
    (void)p;
    (void)result;
    fin_block_on_then(once, NULL, 0, expose, NULL);
}

static struct fin_sem go = FIN_SEM_INIT(0), done = FIN_SEM_INIT(0);
static long scheduled;

static void racer(void *arg) {
    (void)arg;
    for (long i = 0; i < rounds; i++) {
        fin_sem_wait_nc(&go);
        int r = fin_schedule(__atomic_load_n(&victim, __ATOMIC_ACQUIRE));
        CHECK(r == 0 || r == -EALREADY);
        scheduled += r == 0;
        fin_sem_post(&done);
    }
}

static void against_cancel(void) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, racer, NULL), 0);
    for (long i = 0; i < rounds; i++) {
        fin_finish {
            fin_async_cont(begin, NULL, 0);
            fin_yield();
            fin_sem_post(&go);
            for (volatile long spin = i % 400; spin > 0; spin--) {
            }
            fin_cancel(); // the AWE stays until this thread yields
            while (fin_sem_trywait(&done) != 0)
                sched_yield();
        }
    }
    fin_thread_join_nc(&t);
    CHECK_EQ(ran, rounds);
    CHECK_EQ(won, scheduled);
    fprintf(stderr, "woken %ld of %ld\n", won, rounds);
}

int main(void) {
    if (getenv("FIN_FEW") || FIN_SANITIZED)
        rounds = 1000;
    all_are_woken();
    against_cancel();
    return 0;
}

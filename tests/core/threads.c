// SPDX-License-Identifier: BSD-2-Clause
// fin_schedule from other OS threads: idle owners wake, nothing is lost, nothing is resumed twice.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <fin.h>

#include "check.h"
#include "process.h"

enum { WAKERS = 3 };

static int rounds, lives;
static _Atomic(struct fin_awe *) slots[WAKERS];
static atomic_int woken[WAKERS];

// Schedules whatever appears in its slot.
static void *waker(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int i = 0; i < rounds; i++) {
        struct fin_awe *a;
        while (!(a = atomic_exchange(&slots[me], NULL)))
            if (i % 64 == 0 || on_valgrind()) // where one thread runs at a time
                sched_yield();
        CHECK_EQ(fin_schedule(a), 0);
    }
    return NULL;
}

static void publish(void *arg) {
    void **pair = arg;
    atomic_store((_Atomic(struct fin_awe *) *)pair[0], *(struct fin_awe **)pair[1]);
}

static void sleeper(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int i = 0; i < rounds; i++) {
        struct fin_awe *self = NULL;
        void *pair[] = {&slots[me], &self};
        fin_suspend_then(&self, publish, pair);
        atomic_fetch_add(&woken[me], 1);
    }
}

// Two threads race to schedule one AWE: exactly one succeeds. The AWE lives until both have tried.
static struct fin_awe *contested;
static atomic_int ready, tried, successes;

static void *racer(void *arg) {
    (void)arg;
    for (int i = 1; i <= rounds; i++) {
        while (atomic_load(&ready) < i)
            sched_yield();
        int r = fin_schedule(contested);
        CHECK(r == 0 || r == -EALREADY);
        if (r == 0)
            atomic_fetch_add(&successes, 1);
        atomic_fetch_add(&tried, 1);
    }
    return NULL;
}

static void start_race(void *round) {
    atomic_store(&ready, *(int *)round);
    while (atomic_load(&tried) < 2 * *(int *)round)
        sched_yield();
}

static void race(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_create(&t[i], NULL, racer, NULL), 0);
    for (int i = 1; i <= rounds; i++) {
        fin_suspend_then(&contested, start_race, &i);
        CHECK_EQ(atomic_load(&successes), i);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
}

// A runtime per thread, begun and ended many times.
static void *short_life(void *arg) {
    fin_shared int n = 0;
    fin_finish {
        for (int i = 0; i < 20; i++) {
            fin_async {
                fin_yield();
                n++;
            };
        }
    }
    *(int *)arg = n;
    return NULL;
}

int main(void) {
    pthread_t t[WAKERS];
    rounds = getenv("FIN_FEW") ? 2000 : 20000;
    lives = getenv("FIN_FEW") ? 40 : 200;
    for (intptr_t i = 0; i < WAKERS; i++)
        CHECK_EQ(pthread_create(&t[i], NULL, waker, (void *)i), 0);
    fin_finish {
        for (intptr_t i = 0; i < WAKERS; i++)
            fin_async_call(sleeper, (void *)i);
    }
    for (int i = 0; i < WAKERS; i++) {
        pthread_join(t[i], NULL);
        CHECK_EQ(woken[i], rounds);
    }
    race();
    for (int i = 0; i < lives; i++) {
        int n[2] = {0, 0};
        pthread_t s[2];
        for (int k = 0; k < 2; k++)
            CHECK_EQ(pthread_create(&s[k], NULL, short_life, &n[k]), 0);
        for (int k = 0; k < 2; k++)
            pthread_join(s[k], NULL);
        CHECK_EQ(n[0] + n[1], 40);
    }
    return 0;
}

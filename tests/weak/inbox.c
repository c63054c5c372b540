// SPDX-License-Identifier: BSD-2-Clause
// Two threads schedule AWEs of a third, which sleeps where it has nothing to do: all of them run, and know what was written
// before. One AWE both try to schedule: one of them may.
#include <sched.h>

#include <fin.h>

#include "weak.h"

enum { AWES = 4 };

static struct fin_awe *waits[AWES];
static int told[AWES], heard[AWES], scheduled[2];

static FIN_BLOCKING void wait_for(int i) {
    fin_suspend(&waits[i]);
    heard[i] = told[i];
}

static void begin(void) {
    for (int i = 0; i < AWES; i++) {
        __atomic_store_n(&waits[i], NULL, __ATOMIC_RELAXED);
        told[i] = heard[i] = 0;
    }
    scheduled[0] = scheduled[1] = 0;
}

static int schedule(int i) {
    struct fin_awe *a;
    while (!(a = __atomic_load_n(&waits[i], __ATOMIC_ACQUIRE)))
        sched_yield();
    return fin_schedule(a);
}

static FIN_BLOCKING void owner(void) {
    fin_finish {
        for (int i = 0; i < AWES; i++) {
            fin_async { wait_for(i); };
        }
    }
}

static void waker(int n) {
    for (int i = n; i < AWES - 1; i += 2) {
        told[i] = i + 1;
        WEAK_CHECK(schedule(i) == 0);
    }
    scheduled[n] = schedule(AWES - 1);
}

static FIN_BLOCKING void thread(int i) {
    if (i == 0)
        owner();
    else
        waker(i - 1);
}

static void end(void) {
    for (int i = 0; i < AWES - 1; i++)
        WEAK_CHECK(heard[i] == i + 1);
    WEAK_CHECK((scheduled[0] == 0) != (scheduled[1] == 0));
}

const struct weak_scenario weak_scenario = {3, NULL, begin, thread, end};

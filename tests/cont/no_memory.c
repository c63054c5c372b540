// SPDX-License-Identifier: BSD-2-Clause
// There is no memory for another stack: AWEs without one that are resumed run one after the other, on the stack that is kept
// for them, and where that is in use they wait until it is spare. Nothing is lost.
#include <fin.h>

#include "memory.h"

enum { N = 100, TURNS = 20 };

// ---- who holds the stacks

static struct fin_event go = FIN_EVENT_INIT;

static void holds(void *p) {
    (void)p;
    fin_event_await(&go, 1);
}

// ---- who needs one

static long ran, starved, held;
static struct fin_sem s = FIN_SEM_INIT(0);
static struct fin_awe *waiter;

static void turns(void *p, int result) {
    CHECK_EQ(result, 0);
    long *n = p;
    if (--*n == 0) {
        ran++;
        fin_cont_end();
    }
    fin_yield_on(turns, n, sizeof *n);
}

static void waits(void *p, int result) {
    waiter = fin_awe_self();
    if (result < 0) {
        starved++;
        fin_cont_end();
    }
    fin_block_on(waits, p, 0);
}

// Keeps it: with its stack.
static void keeps(void *p, int result) {
    (void)p;
    CHECK_EQ(result, 0);
    held = 1;
    fin_sem_wait_nc(&s);
    fin_sleep(1000000); // while nobody else can run
    held = 2;
    fin_cont_end();
}

int main(void) {
    skip_where_watched();
    alarm(60); // where somebody is lost
    fin_finish {
        long n = TURNS;
        fin_sleep(1); // what I/O needs is there
        fin_async_cont(waits, NULL, 0);
        fin_yield();
        for (int i = 0; i < N; i++)
            CHECK(fin_async_cont(turns, &n, sizeof n));
        while (spare_stacks() > 0)
            fin_async_eager_call(holds, NULL);
        limit_memory();
        for (int i = 0; i < 2 * TURNS; i++)
            fin_yield();
        CHECK_EQ(ran, N); // one after the other

        CHECK(fin_async_cont(keeps, NULL, 0));
        fin_yield();
        CHECK_EQ(held, 1);
        n = 1;
        for (int i = 0; i < N; i++)
            CHECK(fin_async_cont(turns, &n, sizeof n));
        for (int i = 0; i < 200; i++)
            fin_yield();
        CHECK_EQ(ran, N); // none can
        CHECK_EQ(fin_schedule(waiter), 0);
        fin_yield();
        CHECK_EQ(fin_schedule(waiter), -EALREADY); // it waits for a stack
        fin_sem_post(&s);
        while (ran < 2 * N || fin_schedule(waiter) != 0)
            fin_sleep(100000);
        CHECK_EQ(held, 2);

        CHECK(fin_async_cont(keeps, NULL, 0));
        fin_yield();
        fin_yield_to(waiter); // starved, and others run
        CHECK_EQ(fin_schedule(waiter), -EALREADY);
        unlimit_memory();                 // somebody else gave memory back
        while (fin_schedule(waiter) != 0) // until it has run, and waits
            fin_sleep(100000);
        CHECK_EQ(held, 1);
        fin_sem_post(&s);
        fin_event_advance(&go, 1);
        fin_cancel();
    }
    CHECK_EQ(held, 2);
    struct fin_stats now;
    fin_stats(&now);
    CHECK_EQ(now.stacks_used, 1);
    return 0;
}

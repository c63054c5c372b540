// SPDX-License-Identifier: BSD-2-Clause
// There is no memory for another stack: AWEs without one that are resumed run one after the other, on the stack that is kept
// for them, and where that is in use they wait until it is spare. Nothing is lost.
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fin.h>

#include "process.h"

enum { N = 100, TURNS = 20 };

static struct rlimit before;

static void limit(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1)
        SKIP("no /proc/self/statm");
    fclose(f);
    struct rlimit now = before;
    now.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
    CHECK_EQ(setrlimit(RLIMIT_AS, &now), 0);
    if (mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        SKIP("the limit of the address space is not kept");
}

static void unlimit(void) { CHECK_EQ(setrlimit(RLIMIT_AS, &before), 0); }

// ---- who holds the stacks

static struct fin_event go = FIN_EVENT_INIT;

static void holds(void *p) {
    (void)p;
    fin_event_await(&go, 1);
}

static size_t spare(void) {
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks - s.stacks_used - 1; // one is kept
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
    if (FIN_SANITIZED || on_valgrind())
        SKIP("what watches needs memory itself");
    CHECK_EQ(getrlimit(RLIMIT_AS, &before), 0);
    alarm(60); // where somebody is lost
    fin_finish {
        long n = TURNS;
        fin_sleep(1); // what I/O needs is there
        fin_async_cont(waits, NULL, 0);
        fin_yield();
        for (int i = 0; i < N; i++)
            CHECK(fin_async_cont(turns, &n, sizeof n));
        while (spare() > 0)
            fin_async_eager_call(holds, NULL);
        limit();
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
        unlimit(); // somebody else gave memory back
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

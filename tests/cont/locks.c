// SPDX-License-Identifier: BSD-2-Clause
// Frames that hold a mutex are not given up: -EBUSY, until it is unlocked, by whom and where ever.
#include <fin.h>

#include "check.h"

enum { MANY = 40 };

static struct fin_mutex m = FIN_MUTEX_INIT, others[MANY];
static struct fin_sync_on wait;

static void never(void *p, int result) {
    (void)p;
    (void)result;
    CHECK(false);
}

static int ended;
static void over(void *p, int result) {
    (void)p;
    CHECK_EQ(result, 0);
    ended++;
    fin_cont_end();
}

static void refused(void) {
    CHECK_EQ(fin_block_on(never, NULL, 0), -EBUSY);
    CHECK_EQ(fin_yield_on(never, NULL, 0), -EBUSY);
    CHECK_EQ(fin_mutex_lock_on(&others[0], &wait, never, NULL, 0), -EBUSY);
}

static void holds(void) {
    CHECK_EQ(fin_mutex_lock(&m), 0);
    refused();
    fin_mutex_unlock(&m);
    CHECK_EQ(fin_mutex_trylock(&m), 0);
    refused();
    fin_yield(); // others run meanwhile
    refused();
    for (int i = 0; i < MANY; i++)
        fin_mutex_lock_nc(&others[i]);
    fin_mutex_unlock(&m);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(fin_block_on(never, NULL, 0), -EBUSY);
        fin_mutex_unlock(&others[i]);
    }
}

static void body(void *p) {
    holds();
    fin_yield_on(over, p, 0);
}

static void step(void *p, int result) {
    (void)result;
    holds();
    fin_mutex_lock_nc(&m);
    CHECK_EQ(fin_call_continuation(never, 0), -EBUSY); // which gives up the frames, too
    fin_mutex_unlock(&m);
    fin_yield_on(over, p, 0);
}

// What others hold does not count.
static void keeps(void *p) {
    (void)p;
    fin_mutex_lock_nc(&m);
    fin_yield();
    fin_mutex_unlock(&m);
}

static void unlocks(void *p) {
    (void)p;
    fin_mutex_unlock(&m);
}

static void unlocked_elsewhere(void *p) {
    struct fin_thread_handle t;
    fin_mutex_lock_nc(&m);
    CHECK_EQ(fin_block_on(never, NULL, 0), -EBUSY);
    CHECK_EQ(fin_thread_start(&t, unlocks, NULL), 0);
    fin_thread_join_nc(&t);
    fin_yield_on(over, p, 0);
}

static void waits_for_it(void *p) {
    fin_mutex_lock_nc(&m); // it is handed over
    refused();
    fin_mutex_unlock(&m);
    fin_yield_on(over, p, 0);
}

// An explicit AWE leaves it locked for good: another with the same record is not it.
static void leaves_locked(void *p, int result) {
    (void)p;
    (void)result;
    fin_mutex_lock_nc(&m);
    fin_cont_end();
}

static struct fin_cond c = FIN_COND_INIT;
static void owns(void *p, int result) {
    fin_mutex_unlock(&m);
    over(p, result);
}
static void waits_for_condition(void *p) {
    fin_mutex_lock_nc(&m);
    fin_mutex_lock_nc(&others[0]);
    CHECK_EQ(fin_cond_wait_on(&c, &m, &wait, never, p, 0), -EBUSY);
    fin_mutex_unlock(&others[0]);
    CHECK_EQ(fin_cond_wait_on(&c, &m, &wait, NULL, p, 0), -EINVAL);
    refused(); // the mutex is the frames' again
    fin_cond_wait_on(&c, &m, &wait, owns, p, 0);
}

int main(void) {
    fin_finish {
        fin_async_call(body, NULL);
    }
    fin_finish {
        fin_async_cont(step, NULL, 0);
    }
    CHECK_EQ(ended, 2);
    fin_finish {
        fin_async_call(keeps, NULL);
        fin_async_cont(over, NULL, 0);
        fin_async_call(waits_for_it, NULL);
    }
    CHECK_EQ(ended, 4);
    fin_finish {
        fin_async_call(unlocked_elsewhere, NULL);
    }
    fin_finish {
        fin_async_cont(leaves_locked, NULL, 0);
    }
    fin_finish {
        fin_async_cont(over, NULL, 0);
    }
    fin_mutex_unlock(&m);
    fin_finish {
        fin_async_call(waits_for_condition, NULL);
        fin_yield();
        fin_cond_signal(&c);
    }
    CHECK_EQ(ended, 7);
    CHECK(!m.locked);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A condition variable within one thread: one signal, one waiter, the first; broadcast wakes those who wait and not those
// who come later; a waiter holds the mutex again whatever the wait returned.
#include <errno.h>
#include <string.h>

#include <fin.h>

#include "check.h"

static struct fin_mutex m = FIN_MUTEX_INIT;
static struct fin_cond c = FIN_COND_INIT;
static int turns;

static void waiter(void *arg) {
    intptr_t me = (intptr_t)arg;
    fin_mutex_lock_nc(&m);
    CHECK_EQ(fin_cond_wait(&c, &m), 0);
    CHECK_EQ(fin_mutex_trylock(&m), -EBUSY); // held, by this one
    LOG("w%d ", (int)me);
    turns++;
    fin_mutex_unlock(&m);
}

static void signals(void) {
    fin_cond_signal(&c); // for nobody
    fin_finish {
        for (intptr_t i = 0; i < 3; i++)
            fin_async_call(waiter, (void *)i);
        for (int i = 0; i < 20; i++)
            fin_yield();
        CHECK_EQ(turns, 0); // none is spurious, the early signal is not kept
        fin_cond_signal(&c);
        for (int i = 0; i < 20; i++)
            fin_yield();
        CHECK_EQ(turns, 1);
        fin_mutex_lock_nc(&m);
        fin_cond_signal(&c);
        fin_cond_signal(&c);
        for (int i = 0; i < 20; i++)
            fin_yield();
        CHECK_EQ(turns, 1); // they stand in line for the mutex
        fin_mutex_unlock(&m);
    }
    CHECK_LOG("w0 w1 w2 ");
}

static void broadcasts(void) {
    check_log[0] = 0;
    turns = 0;
    fin_finish {
        for (intptr_t i = 0; i < 5; i++)
            fin_async_call(waiter, (void *)i);
        fin_cond_broadcast(&c);
        fin_async_call(waiter, (void *)5);
        for (int i = 0; i < 40; i++)
            fin_yield();
        CHECK_EQ(turns, 5);
        fin_cond_broadcast(&c);
    }
    CHECK_LOG("w0 w1 w2 w3 w4 w5 ");
}

// The waiter that loses its wait to a cancel comes back behind those who stood in line for the mutex before.
static void cancelled(void) {
    check_log[0] = 0;
    fin_finish {
        fin_async {
            fin_mutex_lock_nc(&m);
            CHECK_EQ(fin_cond_wait(&c, &m), -ECANCELED);
            LOG("cancelled ");
            CHECK_EQ(fin_mutex_trylock(&m), -EBUSY);
            // in a cancelled block it does not even let go of the mutex
            fin_async {
                fin_mutex_lock_nc(&m);
                LOG("other ");
                fin_mutex_unlock(&m);
            };
            CHECK_EQ(fin_cond_wait(&c, &m), -ECANCELED);
            LOG("again ");
            fin_mutex_unlock(&m);
        };
        fin_async {
            fin_mutex_lock_nc(&m);
            LOG("holder ");
            fin_yield();
            fin_yield();
            LOG("done ");
            fin_mutex_unlock(&m);
        };
        fin_cancel();
        LOG("asked ");
    }
    CHECK_LOG("holder asked done cancelled again other ");
}

// A signal that came first stands, a cancel or not; and the other way round.
static void both(void) {
    fin_finish {
        fin_async {
            fin_mutex_lock_nc(&m);
            CHECK_EQ(fin_cond_wait(&c, &m), 0);
            fin_mutex_unlock(&m);
        };
        fin_cond_signal(&c);
        fin_cancel();
    }
    fin_shared int got = 1;
    fin_finish {
        fin_async {
            fin_mutex_lock_nc(&m);
            got = fin_cond_wait(&c, &m);
            fin_mutex_unlock(&m);
        };
        fin_finish {
            fin_async {
                fin_mutex_lock_nc(&m);
                CHECK_EQ(fin_cond_wait(&c, &m), -ECANCELED);
                fin_mutex_unlock(&m);
            };
            fin_cancel();
        }
        fin_cond_signal(&c); // not spent on the one who was cancelled
    }
    CHECK_EQ(got, 0);
}

static void nc(void) {
    turns = 0;
    fin_finish {
        fin_async {
            fin_mutex_lock_nc(&m);
            fin_cond_wait_nc(&c, &m);
            turns++;
            fin_mutex_unlock(&m);
        };
        fin_cancel();
        for (int i = 0; i < 10; i++)
            fin_yield();
        CHECK_EQ(turns, 0);
        fin_cond_signal(&c);
    }
    CHECK_EQ(turns, 1);
}

int main(void) {
    signals();
    broadcasts();
    cancelled();
    both();
    nc();
    CHECK_EQ(fin_mutex_trylock(&m), 0);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// As room.c, and messages back, between AWEs that wait with continuations; a mutex and a semaphore waited for that way.
#include <fin.h>
#include <fin/chan.h>
#include <fin/chan_on.h>
#include <fin/sync_on.h>

#include "weak.h"

enum { MESSAGES = 70 };

static struct fin_chan *ends[2];
static struct fin_chan_on ons[2];
static struct fin_sync_on waits[2];
static struct fin_mutex mutex = FIN_MUTEX_INIT;
static struct fin_sem sem = FIN_SEM_INIT(0);
static uint64_t out[2], in[2];
static unsigned count[2], inside, finished;

static void is_over(void *state, int result) {
    (void)state;
    WEAK_CHECK(result == 0);
    finished++;
    fin_cont_end();
}

static void has_mutex(void *state, int result) {
    (void)state;
    WEAK_CHECK(result == 0 && inside++ == 0);
    inside--;
    fin_mutex_unlock(&mutex);
    WEAK_CHECK(fin_sem_post(&sem) == 0);
    fin_cont_end();
}

static void answered(void *state, int n) {
    (void)state;
    WEAK_CHECK(n == sizeof in[0] && in[0] == MESSAGES);
    fin_mutex_lock_on(&mutex, &waits[0], has_mutex, NULL, 0);
    WEAK_CHECK(0);
}

static void sent(void *state, int result) {
    (void)state;
    WEAK_CHECK(result == 0);
    out[0] = count[0]++;
    if (count[0] < MESSAGES)
        fin_chan_send_on(ends[0], &out[0], sizeof out[0], &ons[0], sent, NULL, 0);
    fin_chan_send_recv_on(ends[0], &out[0], sizeof out[0], &in[0], sizeof in[0], &ons[0], answered, NULL, 0);
    WEAK_CHECK(0);
}

static void received(void *state, int n) {
    (void)state;
    WEAK_CHECK(n == sizeof in[1] && in[1] == count[1]);
    if (++count[1] < MESSAGES)
        fin_chan_recv_on(ends[1], &in[1], sizeof in[1], &ons[1], received, NULL, 0);
    out[1] = count[1];
    fin_mutex_lock_nc(&mutex);
    WEAK_CHECK(fin_chan_send(ends[1], &out[1], sizeof out[1]) == 0);
    WEAK_CHECK(inside++ == 0);
    inside--;
    fin_mutex_unlock(&mutex);
    fin_sem_wait_on(&sem, &waits[1], is_over, NULL, 0);
    WEAK_CHECK(0);
}

static void receives(void *state, int result) {
    (void)state;
    (void)result;
    fin_chan_recv_on(ends[1], &in[1], sizeof in[1], &ons[1], received, NULL, 0);
    WEAK_CHECK(0);
}

static FIN_BLOCKING void thread(int i) {
    fin_finish {
        fin_async_cont(i == 0 ? sent : receives, NULL, 0);
    }
}

static void once(int i) {
    if (i == 0)
        WEAK_CHECK(fin_chan_pair(&ends[0], &ends[1], &(struct fin_chan_options){.size = 4096}) == 0);
}

static void begin(void) { count[0] = count[1] = inside = finished = 0; }

static void end(void) { WEAK_CHECK(finished == 1 && count[0] == MESSAGES && count[1] == MESSAGES); }

const struct weak_scenario weak_scenario = {2, once, begin, thread, end};

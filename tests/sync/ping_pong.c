// SPDX-License-Identifier: BSD-2-Clause
// Two threads that wake each other when both have nothing else to do: a lost wake-up would hang them.
#include <fin.h>

#include "check.h"

enum { ROUNDS = 20000 };

static struct fin_sem ping, pong;
static struct fin_event events[2];
static struct fin_mutex m = FIN_MUTEX_INIT;
static struct fin_cond conds[2] = {FIN_COND_INIT, FIN_COND_INIT};
static int side;

static void sem_side(void *arg) {
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(fin_sem_wait(&ping), 0);
        fin_sem_post(&pong);
    }
}

static void event_side(void *arg) {
    (void)arg;
    for (int i = 1; i <= ROUNDS; i++) {
        CHECK_EQ(fin_event_await(&events[0], (uint64_t)i), 0);
        fin_event_advance(&events[1], 1);
    }
}

static void cond_rounds(int me) {
    for (int i = 0; i < ROUNDS; i++) {
        fin_mutex_lock_nc(&m);
        while (side != me)
            CHECK_EQ(fin_cond_wait(&conds[me], &m), 0);
        side = !me;
        fin_cond_signal(&conds[!me]);
        fin_mutex_unlock(&m);
    }
}

static void cond_side(void *arg) {
    (void)arg;
    cond_rounds(1);
}

int main(void) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, sem_side, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        fin_sem_post(&ping);
        CHECK_EQ(fin_sem_wait(&pong), 0);
    }
    CHECK_EQ(fin_thread_join(&t), 0);

    CHECK_EQ(fin_thread_start(&t, event_side, NULL), 0);
    for (int i = 1; i <= ROUNDS; i++) {
        fin_event_advance(&events[0], 1);
        CHECK_EQ(fin_event_await(&events[1], (uint64_t)i), 0);
    }
    CHECK_EQ(fin_thread_join(&t), 0);

    CHECK_EQ(fin_thread_start(&t, cond_side, NULL), 0);
    cond_rounds(0);
    CHECK_EQ(fin_thread_join(&t), 0);
    return 0;
}

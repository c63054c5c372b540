// SPDX-License-Identifier: BSD-2-Clause
// The synchronization of THC, its results, and what the originals got wrong: waiters are served first come first served, a
// cancelled wait holds the lock again, a lock that is not free does not block the waiter's latch, idle threads wake.
#include <string.h>

#include <fin/thc.h>

#include "check.h"

static thc_sem_t s;
static thc_lock_t lock;
static thc_condvar_t cv;
static thc_queue_t queue;
static thc_ec_t ec;
static thc_seq_t seq;

static void fifo(void) {
    thc_sem_init(&s, 0);
    thc_lock_init(&lock);
    thc_condvar_init(&cv);
    DO_FINISH({
        for (int i = 0; i < 3; i++)
            ASYNC({
                int me = i;
                thc_sem_p(&s);
                LOG("s%d ", me);
                thc_lock_acquire(&lock);
                thc_condvar_wait(&cv, &lock);
                LOG("c%d ", me);
                thc_lock_release(&lock);
            });
        for (int i = 0; i < 3; i++)
            thc_sem_v(&s);
        for (int i = 0; i < 5; i++)
            THCYield();
        thc_condvar_signal(&cv);
        thc_condvar_broadcast(&cv);
    });
    CHECK_LOG("s0 s1 s2 c0 c1 c2 ");
}

// The lock is not free when the waiter comes back: others can signal and wait meanwhile.
static void lock_held(void) {
    check_log[0] = 0;
    DO_FINISH({
        ASYNC({
            thc_lock_acquire(&lock);
            thc_condvar_wait(&cv, &lock);
            LOG("a ");
            thc_lock_release(&lock);
        });
        thc_lock_acquire(&lock);
        thc_condvar_signal(&cv);
        THCYield();
        thc_condvar_signal(&cv);
        LOG("held ");
        thc_lock_release(&lock);
    });
    CHECK_LOG("held a ");
}

static void cancels(void) {
    check_log[0] = 0;
    thc_sem_init(&s, 0);
    thc_ec_init(&ec);
    thc_queue_init(&queue);
    static thc_queue_entry_t first;
    thc_queue_enter(&queue, &first);
    DO_FINISH_(tag, {
        ASYNC({
            thc_lock_acquire(&lock);
            CHECK_EQ(thc_condvar_wait_x(&cv, &lock), THC_CANCELED);
            LOG("cv ");
            thc_lock_release(&lock); // held
        });
        ASYNC({
            CHECK_EQ(thc_sem_p_x(&s), THC_CANCELED);
            LOG("sem ");
        });
        ASYNC({
            CHECK_EQ(thc_ec_await_x(&ec, 1), THC_CANCELED);
            LOG("ec ");
        });
        ASYNC({
            thc_queue_entry_t mine;
            thc_queue_enter(&queue, &mine);
            CHECK_EQ(thc_queue_await_turn_x(&queue, &mine), THC_CANCELED);
            LOG("queue%d ", thc_queue_leave(&queue, &mine));
        });
        CANCEL(tag);
        LOG("asked ");
    });
    LOG("%d", thc_queue_leave(&queue, &first));
    CHECK_LOG("asked queue0 ec sem cv 2"); // newest first
}

// Turns that nobody can be kept from, come in the order of entry.
static void turns(void) {
    check_log[0] = 0;
    thc_queue_init(&queue);
    DO_FINISH_(tag, {
        for (int i = 0; i < 3; i++)
            ASYNC({
                int me = i;
                thc_queue_entry_t mine;
                thc_queue_enter(&queue, &mine);
                thc_queue_await_turn(&queue, &mine);
                THCYield();
                LOG("t%d=%d ", me, thc_queue_leave(&queue, &mine));
            });
        CANCEL(tag);
    });
    CHECK_LOG("t0=1 t1=1 t2=1 ");
}

static void counts(void) {
    check_log[0] = 0;
    thc_ec_init(&ec);
    thc_seq_init(&seq);
    DO_FINISH({
        for (int i = 0; i < 3; i++)
            ASYNC({
                uint64_t ticket = thc_seq_ticket(&seq);
                thc_ec_await(&ec, ticket);
                LOG("%d ", (int)ticket);
                thc_ec_advance(&ec, 1);
            });
    });
    CHECK_LOG("0 1 2 ");
    CHECK_EQ(thc_seq_read(&seq), 3);
    CHECK_EQ(thc_ec_read(&ec), 3);
}

// Another thread schedules an AWE of this one, which has nothing else to run.
static awe_t *sleeper;
static thc_sem_t asked;

static void waker(void *arg) {
    (void)arg;
    for (int i = 0; i < 3000; i++) {
        thc_sem_p(&asked);
        if (i % 2)
            THCSchedule(sleeper);
        else
            THCYieldTo(sleeper);
    }
}

static void ask(void *arg) {
    (void)arg;
    thc_sem_v(&asked);
}

static void wakes(void) {
    struct fin_thread_handle t;
    thc_sem_init(&asked, 0);
    CHECK_EQ(fin_thread_start(&t, waker, NULL), 0);
    for (int i = 0; i < 3000; i++)
        THCSuspendThen(&sleeper, ask, NULL);
    fin_thread_join_nc(&t);
}

int main(void) {
    fifo();
    lock_held();
    cancels();
    turns();
    counts();
    wakes();
    THCIncSendCount();
    THCIncRecvCount();
    THCDumpStats(1);
    thc_global_init();
    thc_global_fini();
    return 0;
}

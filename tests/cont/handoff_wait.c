// SPDX-License-Identifier: BSD-2-Clause
// An AWE that waits for an object without a stack is nobody else's to run: a handoff to it, or a directed yield, would go on
// as if it had been granted what it waits for, and what it is granted then would be lost. Nor is one whose wait was
// cancelled, which has to hear of that.
#include <string.h>

#include <fin.h>

#include "check.h"

static struct fin_mutex mutex;
static struct fin_sync_on on;
static struct fin_awe *waiting;
static bool nc;

static void has_it(void *p, int result) {
    (void)p;
    LOG("has%d ", result);
    if (result == 0)
        fin_mutex_unlock(&mutex);
    fin_cont_end();
}

static void waits(void *p, int result) {
    (void)p;
    (void)result;
    waiting = fin_awe_self();
    (nc ? fin_mutex_lock_on_nc : fin_mutex_lock_on)(&mutex, &on, has_it, NULL, 0);
    CHECK(false);
}

static void back(void *p, int result) {
    (void)p;
    LOG("back%d ", result);
    fin_cont_end();
}

static void handoff_is_refused(void) {
    CHECK_EQ(fin_thread_handoff(back, NULL, 0, waiting), -EINVAL);
    CHECK_EQ(fin_thread_handoff_if(has_it, back, NULL, 0, waiting), -EINVAL);
}

// The mutex is held by another: the wait has not been decided.
static void while_it_waits(void *p, int result) {
    (void)p;
    (void)result;
    uint32_t id;
    handoff_is_refused();
    CHECK_EQ(fin_schedule(waiting), -EINVAL);
    CHECK_EQ(fin_yield_to(waiting), -EINVAL);
    CHECK_EQ(fin_switch_context(back, NULL, 0, NULL, waiting), -EINVAL);
    CHECK_EQ(fin_awe_id_create(&id), 0);
    CHECK_EQ(fin_awe_id_set(id, waiting), -EINVAL);
    CHECK_EQ(fin_awe_id_remove(id), 0);
    LOG("refused ");
    fin_cont_end();
}

// It has been granted the mutex, and is about to run.
static void in_its_place(void *p, int result) {
    (void)p;
    (void)result;
    CHECK_EQ(fin_thread_handoff_if(has_it, back, NULL, 0, waiting), 0);
    CHECK(fin_awe_self() == waiting);
    LOG("in its place ");
    fin_mutex_unlock(&mutex);
    fin_cont_end();
}

// It has been cancelled, and is about to run.
static void too_late(void *p, int result) {
    (void)p;
    (void)result;
    handoff_is_refused();
    LOG("refused ");
    fin_cont_end();
}

static void undecided(void) {
    fin_finish {
        fin_async_cont(waits, NULL, 0);
        fin_yield();
        fin_async_cont(while_it_waits, NULL, 0);
        fin_yield();
        CHECK_LOG("refused ");
        fin_mutex_unlock(&mutex);
    }
    CHECK_LOG("refused has0 ");
}

static void granted(void) {
    fin_finish {
        fin_async_cont(waits, NULL, 0);
        fin_yield();
        fin_async_cont(in_its_place, NULL, 0);
        fin_mutex_unlock(&mutex);
        fin_yield();
        fin_cancel();
    }
    CHECK_LOG("in its place back-125 ");
}

static void cancelled(void) {
    fin_finish {
        fin_async_cont(waits, NULL, 0);
        fin_yield();
        fin_async_cont(too_late, NULL, 0);
        fin_cancel();
    }
    CHECK_LOG("refused has-125 ");
    fin_mutex_unlock(&mutex);
}

// What it waits for takes the library several waits: between two of them it is about to run, with a result of 0.
static struct fin_chan *ours, *theirs;
static struct fin_chan_on chan_on;
static long message;
static volatile bool sent;

static void has_message(void *p, int n) {
    (void)p;
    CHECK_EQ(n, sizeof message);
    LOG("message ");
    fin_cont_end();
}

static void receives(void *p, int result) {
    (void)p;
    (void)result;
    waiting = fin_awe_self();
    fin_chan_recv_on(ours, &message, sizeof message, &chan_on, has_message, NULL, 0);
}

static void sends(void *p) {
    (void)p;
    CHECK_EQ(fin_chan_send(theirs, &message, sizeof message), 0);
    __atomic_store_n(&sent, true, __ATOMIC_RELEASE);
}

static void between_two_waits(void *p, int result) {
    (void)p;
    (void)result;
    while (!__atomic_load_n(&sent, __ATOMIC_ACQUIRE)) {
    }
    CHECK(fin_cont_of(waiting) == has_message);
    CHECK_EQ(fin_thread_handoff(back, NULL, 0, waiting), -EINVAL);
    CHECK_EQ(fin_stack_handoff(waiting), -EINVAL);
    fin_cont_end();
}

static void in_the_midst(void) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_chan_pair(&ours, &theirs, NULL), 0);
    fin_finish {
        fin_async_cont(receives, NULL, 0);
        for (int i = 0; i < 100; i++)
            fin_yield(); // it has looked as often as it does, and sleeps
        CHECK_EQ(fin_thread_start(&t, sends, NULL), 0);
        fin_async_cont(between_two_waits, NULL, 0);
    }
    CHECK_LOG("message ");
    fin_thread_join_nc(&t);
    fin_chan_close(ours);
    fin_chan_close(theirs);
}

// Each gets the mutex locked, and leaves it unlocked.
int main(void) {
    void (*const all[])(void) = {undecided, granted, cancelled};
    fin_mutex_init(&mutex);
    for (int i = 0; i < 5; i++) {
        nc = i >= 3;
        check_log[0] = 0;
        CHECK_EQ(fin_mutex_trylock(&mutex), 0);
        all[i % 3]();
    }
    CHECK_EQ(fin_mutex_trylock(&mutex), 0);
    check_log[0] = 0;
    in_the_midst();
    return 0;
}

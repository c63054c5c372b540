// SPDX-License-Identifier: BSD-2-Clause
// The report of a process that nothing can wake says what kind of object each AWE waits for, with a stack or without.
#include <fin.h>
#include <fin/cont.h>
#include <fin/sync_on.h>

#include "stuck.h"

static struct fin_mutex mutex = FIN_MUTEX_INIT;
static struct fin_cond cond = FIN_COND_INIT;
static struct fin_sem sem = FIN_SEM_INIT(0);
static struct fin_event event = FIN_EVENT_INIT;
static struct fin_queue queue = FIN_QUEUE_INIT;
static struct fin_queue_entry first, second;
static struct fin_sync_on on[2];

static void wants_to_pass(void *unused) {
    (void)unused;
    fin_sem_wait_nc(&sem);
}

static void wants_a_signal(void *unused) {
    (void)unused;
    fin_mutex_lock_nc(&mutex);
    fin_cond_wait_nc(&cond, &mutex);
}

static void wants_seven(void *unused) {
    (void)unused;
    fin_event_await_nc(&event, 7);
}

static void wants_its_turn(void *unused) {
    (void)unused;
    fin_queue_enter(&queue, &first);
    fin_queue_enter(&queue, &second);
    fin_queue_await_turn_nc(&queue, &second);
}

static void with_stacks(void) {
    fin_finish {
        fin_async_call(wants_to_pass, NULL);
        fin_async_call(wants_a_signal, NULL);
        fin_async_call(wants_seven, NULL);
        fin_async_call(wants_its_turn, NULL);
    }
}

// It is let go, and stands in line for the mutex.
static void signalled(void) {
    fin_finish {
        fin_async_call(wants_a_signal, NULL);
        fin_mutex_lock_nc(&mutex);
        fin_cond_signal(&cond);
    }
}

static void passed(void *state, int result) { (void)state, (void)result; }

static void waits_without_a_stack(void *state, int result) {
    (void)result;
    if (*(int *)state == 0)
        fin_sem_wait_on(&sem, &on[0], passed, NULL, 0);
    else
        fin_event_await_on(&event, 7, &on[1], passed, NULL, 0);
}

static void without_stacks(void) {
    fin_finish {
        for (int i = 0; i < 2; i++)
            CHECK(fin_async_cont(waits_without_a_stack, &i, sizeof i));
    }
}

static struct scenario scenarios[] = {
    {.run = with_stacks,
     .said = {"entry wants_to_pass, ", "waits for the semaphore 0x", "waits for the condition variable 0x", " to reach 7\n",
              "waits for its turn in the queue 0x"}},
    {.run = signalled, .said = {"entry wants_a_signal, ", "waits for the mutex 0x", "which is held by 2"}},
    {.run = without_stacks,
     .said = {"continuation passed, ", "waits for the semaphore 0x", "continuation passed, ", "waits for the event count 0x",
              " to reach 7\n"}},
};

int main(void) {
    run_scenarios(scenarios, sizeof scenarios / sizeof *scenarios);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// An AWE that waits with its stack, and one with a continuation: their own thread goes over to them, by a directed yield and
// by a handoff, while two others schedule them. They run once, whoever did it.
#include <sched.h>

#include <fin.h>
#include <fin/cont.h>

#include "weak.h"

static struct fin_awe *stackful, *explicit_one;
static int scheduled[2][2], went_over, handed_over, ran, ran_explicit, has_scheduled;

// Until then what waited is not gone.
static void both_have(int n) {
    while (__atomic_load_n(&has_scheduled, __ATOMIC_ACQUIRE) < n)
        sched_yield();
}

static FIN_BLOCKING void waits(void) {
    fin_suspend(&stackful);
    ran++;
    both_have(2);
}

static void has_run(void *state, int result) {
    (void)state;
    (void)result;
    ran_explicit++;
    both_have(4);
    fin_cont_end();
}

static void make_known(struct fin_awe *a, void *arg) {
    (void)arg;
    __atomic_store_n(&explicit_one, a, __ATOMIC_RELEASE);
}

static FIN_BLOCKING void waits_explicitly(void) {
    fin_yield();
    fin_block_on_then(has_run, NULL, 0, make_known, NULL);
}

static void ends(void *state, int result) {
    (void)state;
    (void)result;
    fin_cont_end();
}

static void hands_over(void *state, int result) {
    (void)state;
    (void)result;
    struct fin_awe *me = fin_awe_self();
    handed_over = fin_thread_handoff_if(has_run, ends, NULL, 0, explicit_one);
    if (handed_over == 0) {
        fin_schedule(me);
        fin_call_continuation(has_run, 0);
    }
    fin_cont_end();
}

static FIN_BLOCKING void owner(void) {
    fin_finish {
        fin_async { waits(); };
        went_over = fin_yield_to(stackful);
        fin_async { waits_explicitly(); };
        fin_yield();
        fin_async_cont(hands_over, NULL, 0);
    }
}

static void waker(int n) {
    struct fin_awe **const all[] = {&stackful, &explicit_one}, *a;
    for (int i = 0; i < 2; i++) {
        while (!(a = __atomic_load_n(all[i], __ATOMIC_ACQUIRE)))
            sched_yield();
        scheduled[i][n] = fin_schedule(a);
        __atomic_fetch_add(&has_scheduled, 1, __ATOMIC_RELEASE);
    }
}

static FIN_BLOCKING void thread(int i) {
    if (i == 0)
        owner();
    else
        waker(i - 1);
}

static void begin(void) {
    stackful = explicit_one = NULL;
    ran = ran_explicit = has_scheduled = 0;
}

static void end(void) {
    WEAK_CHECK(ran == 1 && ran_explicit == 1);
    for (int i = 0; i < 2; i++)
        WEAK_CHECK(scheduled[i][0] != 0 || scheduled[i][1] != 0);
}

const struct weak_scenario weak_scenario = {3, NULL, begin, thread, end};

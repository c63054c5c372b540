// SPDX-License-Identifier: BSD-2-Clause
// A thread looks for events at each switch while it is traced, and as seldom as before when the trace is over. A thread that
// one trace follows is followed by the next.
#include <fin.h>

#include "check.h"

enum { YIELDS = 1000, SELDOM = 20 };

static void yields(void *unused) {
    (void)unused;
    for (int i = 0; i < YIELDS; i++)
        fin_yield();
}

// One sample each.
static uint64_t looks(void) {
    struct fin_stats s;
    fin_stats_clear();
    fin_finish {
        fin_async_call(yields, NULL);
        fin_async_call(yields, NULL);
    }
    fin_stats(&s);
    CHECK(s.switches >= 2 * YIELDS && s.switches <= 2 * YIELDS + 10);
    return s.stacks_samples;
}

static struct fin_event begun, over, again;

static void other_thread(void *unused) {
    (void)unused;
    CHECK(looks() >= 2 * YIELDS);
    fin_event_advance(&begun, 1);
    fin_event_await_nc(&over, 1);
    CHECK(looks() <= SELDOM);
    fin_event_advance(&begun, 1);
    fin_event_await_nc(&again, 1);
    CHECK(looks() >= YIELDS);
}

int main(void) {
    struct fin_thread_handle t;
    CHECK(looks() <= SELDOM);
    CHECK_EQ(fin_trace_start("/dev/null"), 0);
    CHECK(looks() >= 2 * YIELDS);
    CHECK_EQ(fin_thread_start(&t, other_thread, NULL), 0);
    fin_event_await_nc(&begun, 1);
    CHECK_EQ(fin_trace_stop(), 0);
    CHECK(looks() <= SELDOM);
    fin_event_advance(&over, 1);
    fin_event_await_nc(&begun, 2);
    CHECK_EQ(fin_trace_start("/dev/null"), 0);
    fin_event_advance(&again, 1);
    fin_thread_join_nc(&t);
    CHECK_EQ(fin_trace_stop(), 0);
    return 0;
}

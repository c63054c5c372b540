// SPDX-License-Identifier: BSD-2-Clause
// One AWE that receives at `b` with a continuation, and is asleep when a scenario goes on.
#ifndef FIN_TESTS_CHAN_ASLEEP_H
#define FIN_TESTS_CHAN_ASLEEP_H

#include "chan.h"

enum { MOST = 300 };

static struct fin_chan_on on;
static char buffer[MOST];
static int result; // 1: there is none yet
static struct fin_awe *receiver;

static struct fin_blocks waits(enum fin_reason reason) {
    struct fin_stats s;
    fin_stats(&s);
    return s.blocks[reason];
}

static long mark; // its state
static void has(void *state, int n) {
    mark = *(long *)state;
    result = n;
    fin_cont_end();
}

static void receive(void *state, int r) {
    const long first = 1;
    (void)state;
    CHECK_EQ(r, 0);
    fin_chan_recv_on(b, buffer, MOST, &on, has, &first, sizeof first);
}

#define START() CHECK((result = 1) && (receiver = fin_async_cont(receive, NULL, 0)) != NULL)

static void until_asleep(uint64_t times) {
    while (waits(FIN_FOR_MESSAGE).with_continuation < times)
        CHECK_EQ(fin_sleep_nc(FIN_MS), 0);
    CHECK_EQ(fin_sleep_nc(FIN_MS), 0);
    CHECK_EQ(result, 1);
}

#endif

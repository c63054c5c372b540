// SPDX-License-Identifier: BSD-2-Clause
// One message for who is about to sleep, and nothing after it that would make good a wake-up that was lost: by its stack,
// in a waitset, and with a continuation. Now and then it is a long one: so the receiver asks for fences, and no longer does.
#include <fin.h>
#include <fin/chan.h>
#include <fin/chan_on.h>
#include <fin/waitset.h>

#include "weak.h"

static struct fin_chan *ends[2], *watched[2];
static struct fin_waitset *set;
static struct fin_chan_on on;
static int way, heard;
static unsigned round;

enum { SHORT = 8, LONG = 20 * 64 };
static size_t size;
static char in[LONG];

static FIN_BLOCKING void take(void *arg) {
    (void)arg;
    heard = fin_chan_try_recv(watched[1], in, sizeof in) == (ssize_t)size;
}

static void received(void *state, int n) {
    (void)state;
    heard = n == (int)size;
    fin_cont_end();
}

static void receives(void *state, int result) {
    (void)state;
    (void)result;
    fin_chan_recv_on(ends[1], in, sizeof in, &on, received, NULL, 0);
}

static FIN_BLOCKING void waits(void) {
    if (way == 0)
        heard = fin_chan_recv(ends[1], in, sizeof in) == (ssize_t)size;
    else if (way == 1)
        while (!heard)
            WEAK_CHECK(fin_waitset_dispatch(set) == 0);
    else
        fin_finish {
            fin_async_cont(receives, NULL, 0);
        }
}

static FIN_BLOCKING void thread(int i) {
    static const char out[LONG];
    if (i == 0)
        waits();
    else
        WEAK_CHECK(fin_chan_try_send(way == 1 ? watched[0] : ends[0], out, size) == 0);
}

static void once(int i) {
    if (i != 0)
        return;
    struct fin_chan_options small = {.size = 4096}; // so each long one is acknowledged
    WEAK_CHECK(fin_chan_pair(&ends[0], &ends[1], &small) == 0 && fin_chan_pair(&watched[0], &watched[1], &small) == 0);
    WEAK_CHECK(fin_waitset_new(&set) == 0 && fin_waitset_add(set, watched[1], take, NULL) == 0);
}

// For each message there was an answer, after which the next one is sent behind a skip now and then (src/chan/room.c).
static void answer(struct fin_chan *const *c) {
    char byte;
    WEAK_CHECK(fin_chan_try_send(c[1], "", 1) == 0 && fin_chan_try_recv(c[0], &byte, 1) == 1);
}

static void begin(void) {
    answer(round % 3 == 2 ? watched : ends);
    way = (int)(round % 3);
    size = round++ % 240 < 192 ? SHORT : LONG;
    heard = 0;
}

static void end(void) { WEAK_CHECK(heard); }

const struct weak_scenario weak_scenario = {2, once, begin, thread, end};

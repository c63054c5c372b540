// SPDX-License-Identifier: BSD-2-Clause
// One message for who is about to sleep, and nothing after it that would make good a wake-up that was lost: by its stack,
// in a waitset, and with a continuation.
#include <fin.h>
#include <fin/chan.h>
#include <fin/chan_on.h>
#include <fin/waitset.h>

#include "weak.h"

static struct fin_chan *ends[2], *watched[2];
static struct fin_waitset *set;
static struct fin_chan_on on;
static int way, in, heard;

static FIN_BLOCKING void take(void *arg) {
    (void)arg;
    heard = fin_chan_try_recv(watched[1], &in, sizeof in) == sizeof in;
}

static void received(void *state, int n) {
    (void)state;
    heard = n == sizeof in;
    fin_cont_end();
}

static void receives(void *state, int result) {
    (void)state;
    (void)result;
    fin_chan_recv_on(ends[1], &in, sizeof in, &on, received, NULL, 0);
}

static FIN_BLOCKING void waits(void) {
    if (way == 0)
        heard = fin_chan_recv(ends[1], &in, sizeof in) == sizeof in;
    else if (way == 1)
        while (!heard)
            WEAK_CHECK(fin_waitset_dispatch(set) == 0);
    else
        fin_finish {
            fin_async_cont(receives, NULL, 0);
        }
}

static FIN_BLOCKING void thread(int i) {
    if (i == 0)
        waits();
    else
        WEAK_CHECK(fin_chan_try_send(way == 1 ? watched[0] : ends[0], &way, sizeof way) == 0);
}

static void once(int i) {
    if (i != 0)
        return;
    WEAK_CHECK(fin_chan_pair(&ends[0], &ends[1], NULL) == 0 && fin_chan_pair(&watched[0], &watched[1], NULL) == 0);
    WEAK_CHECK(fin_waitset_new(&set) == 0 && fin_waitset_add(set, watched[1], take, NULL) == 0);
}

static void begin(void) {
    way = (way + 1) % 3;
    in = heard = 0;
}

static void end(void) { WEAK_CHECK(heard && in == way); }

const struct weak_scenario weak_scenario = {2, once, begin, thread, end};

// SPDX-License-Identifier: BSD-2-Clause
// Who sends fills the ring and waits for room, by its stack or with a continuation; who receives takes just what makes some,
// and then waits to be told. So nothing that comes later makes good a wake-up that was lost.
#include <fin.h>
#include <fin/chan.h>
#include <fin/chan_on.h>

#include "weak.h"

enum { LINES = 64, MAKES_ROOM = LINES / 4 + 1 };

static struct fin_chan *ends[2], *told[2];
static struct fin_chan_on on;
static char message[56];
static bool with_continuation;

static void sent(void *state, int result) {
    (void)state;
    WEAK_CHECK(result == 0);
    WEAK_CHECK(fin_chan_try_send(told[0], message, 0) == 0);
    fin_cont_end();
}

static void sends_on(void *state, int result) {
    (void)state;
    (void)result;
    fin_chan_send_on(ends[0], message, sizeof message, &on, sent, NULL, 0);
}

static FIN_BLOCKING void sends(void) {
    while (fin_chan_try_send(ends[0], message, sizeof message) == 0) {
    }
    WEAK_CHECK(fin_chan_send(told[0], message, 0) == 0);
    if (with_continuation) {
        fin_finish {
            fin_async_cont(sends_on, NULL, 0);
        }
    } else {
        WEAK_CHECK(fin_chan_send(ends[0], message, sizeof message) == 0);
        WEAK_CHECK(fin_chan_send(told[0], message, 0) == 0);
    }
}

static FIN_BLOCKING void receives(void) {
    char m[sizeof message];
    WEAK_CHECK(fin_chan_recv(told[1], m, sizeof m) == 0);
    for (int i = 0; i < MAKES_ROOM; i++)
        WEAK_CHECK(fin_chan_recv(ends[1], m, sizeof m) == sizeof m);
    WEAK_CHECK(fin_chan_recv(told[1], m, sizeof m) == 0);
    while (fin_chan_try_recv(ends[1], m, sizeof m) >= 0) {
    }
}

static FIN_BLOCKING void thread(int i) {
    if (i == 0)
        sends();
    else
        receives();
}

static void once(int i) {
    if (i != 0)
        return;
    WEAK_CHECK(fin_chan_pair(&ends[0], &ends[1], &(struct fin_chan_options){.size = 4096}) == 0);
    WEAK_CHECK(fin_chan_pair(&told[0], &told[1], NULL) == 0);
}

static void begin(void) { with_continuation = !with_continuation; }

const struct weak_scenario weak_scenario = {2, once, begin, thread, NULL};

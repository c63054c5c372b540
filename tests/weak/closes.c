// SPDX-License-Identifier: BSD-2-Clause
// One side takes some messages and closes its end, while the other sends: that one is told of no message that was taken that
// it was not. Where the ring is full, what was taken is room, and nobody reads there any more.
#include <errno.h>

#include <fin.h>
#include <fin/chan.h>

#include "weak.h"

enum { MOST = 4, LONG = 3 * 64, TRIES = 6 };
static struct fin_chan *here, *there;
static int before, taken, sent, round;
static size_t size;

static FIN_BLOCKING void sends(void) {
    int r = 0, m[LONG / sizeof(int)] = {0};
    for (int i = 0; i < (before ? TRIES : MOST) && r != -EPIPE; i++) {
        r = before ? fin_chan_try_send(here, m, size) : fin_chan_send(here, m, size);
        sent += r == 0;
        WEAK_CHECK(r == 0 || r == -EPIPE || (before && r == -EAGAIN));
    }
}

static FIN_BLOCKING void takes(void) {
    int m[LONG / sizeof(int)];
    for (int i = 0; i < taken; i++)
        WEAK_CHECK(fin_chan_recv(there, m, sizeof m) > 0);
    WEAK_CHECK(fin_chan_close(there) == 0);
}

static FIN_BLOCKING void thread(int i) {
    if (i == 0)
        sends();
    else
        takes();
}

static void begin(void) {
    sent = before = 0;
    size = ++round % 2 ? LONG : sizeof(int);
    taken = round / 2 % (MOST + 1);
    WEAK_CHECK(fin_chan_pair(&here, &there, &(struct fin_chan_options){.size = 4096}) == 0);
    while (round % 4 == 0 && fin_chan_try_send(here, &round, size) == 0)
        before++;
}

static void end(void) {
    WEAK_CHECK(before + sent >= taken);
    WEAK_CHECK(fin_chan_close(here) == 0);
}

const struct weak_scenario weak_scenario = {2, NULL, begin, thread, end};

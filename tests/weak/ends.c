// SPDX-License-Identifier: BSD-2-Clause
// One side closes its end while the other receives, or sends: that one has all that was sent, and then hears of the end.
// After a long message the receiver no longer asks for fences.
#include <errno.h>

#include <fin.h>
#include <fin/chan.h>

#include "weak.h"

static struct fin_chan *here, *there;
enum { LONG = 20 * 64 };
static int messages, sent, round;
static size_t size;

static FIN_BLOCKING void sends(void) {
    int m[LONG / sizeof(int)] = {0};
    for (; *m < messages; ++*m) {
        sent = *m + 1;
        WEAK_CHECK(fin_chan_send(here, m, size) == 0);
    }
    WEAK_CHECK(fin_chan_close(here) == 0);
}

static FIN_BLOCKING void receives(void) {
    int r, m[LONG / sizeof(int)];
    for (int i = 0; i < messages; i++) {
        WEAK_CHECK(fin_chan_recv(there, m, sizeof m) == (ssize_t)size && *m == i);
        WEAK_CHECK(fin_chan_try_send(there, m, sizeof *m) != -EAGAIN);
    }
    WEAK_CHECK(fin_chan_recv(there, m, sizeof m) == -ESHUTDOWN);
    WEAK_CHECK(sent == messages);
    while ((r = fin_chan_send(there, m, sizeof *m)) == 0) {
    }
    WEAK_CHECK(r == -EPIPE);
    WEAK_CHECK(fin_chan_close(there) == 0);
}

static FIN_BLOCKING void thread(int i) {
    if (i == 0)
        sends();
    else
        receives();
}

static void begin(void) {
    messages = ++round % 4;
    size = round / 4 % 4 ? LONG : sizeof(int);
    sent = 0;
    WEAK_CHECK(fin_chan_pair(&here, &there, &(struct fin_chan_options){.size = 4096}) == 0);
}

const struct weak_scenario weak_scenario = {2, NULL, begin, thread, NULL};

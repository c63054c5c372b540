// SPDX-License-Identifier: BSD-2-Clause
// One side closes its end while the other receives, or sends: that one has all that was sent, and then hears of the end.
#include <errno.h>

#include <fin.h>
#include <fin/chan.h>

#include "weak.h"

static struct fin_chan *here, *there;
static int messages, sent;

static FIN_BLOCKING void sends(void) {
    for (int i = 0; i < messages; i++) {
        sent = i + 1;
        WEAK_CHECK(fin_chan_send(here, &i, sizeof i) == 0);
    }
    WEAK_CHECK(fin_chan_close(here) == 0);
}

static FIN_BLOCKING void receives(void) {
    int n, r;
    for (int i = 0; i < messages; i++) {
        WEAK_CHECK(fin_chan_recv(there, &n, sizeof n) == sizeof n && n == i);
        WEAK_CHECK(fin_chan_try_send(there, &n, sizeof n) != -EAGAIN);
    }
    WEAK_CHECK(fin_chan_recv(there, &n, sizeof n) == -ESHUTDOWN);
    WEAK_CHECK(sent == messages);
    while ((r = fin_chan_send(there, &n, sizeof n)) == 0) {
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
    messages = (messages + 1) % 3;
    sent = 0;
    WEAK_CHECK(fin_chan_pair(&here, &there, &(struct fin_chan_options){.size = 4096}) == 0);
}

const struct weak_scenario weak_scenario = {2, NULL, begin, thread, NULL};

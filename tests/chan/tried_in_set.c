// SPDX-License-Identifier: BSD-2-Clause
// Who tries to receive in vain looks now and then whether the other end is gone. That takes no ring of the bell away from a
// set that waits there: the sender rings once for a sleeper, whatever number of messages.
#include "chan.h"

enum { TRIES = 200 }; // more than go by without a look

static struct fin_waitset *w;
static int handled;

static void handle(void *unused) {
    char c;
    (void)unused;
    handled += fin_chan_try_recv(b, &c, 1) == 1;
}

static void dispatches(void *unused) {
    (void)unused;
    while (fin_waitset_dispatch(w) == 0) {
    }
}

// The set sleeps. The bell is rung for the first message, which is taken before the set has heard of it.
static void taken_before(void) {
    char c;
    CHECK_EQ(fin_chan_try_recv(b, &c, 1), -EAGAIN);
    CHECK_EQ(fin_sleep(10 * FIN_MS), 0); // to look at the socket is due then
    CHECK_EQ(fin_chan_send(a, "1", 1), 0);
    CHECK_EQ(fin_chan_try_recv(b, &c, 1), 1);
    for (int i = 0; i < TRIES; i++)
        CHECK_EQ(fin_chan_try_recv(b, &c, 1), -EAGAIN);
    CHECK_EQ(fin_chan_send(a, "2", 1), 0);
    for (int i = 0; !handled; i++) {
        CHECK(i < 1000);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
    }
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        handled = 0;
        open_kind(kind, 0, 0);
        CHECK_EQ(fin_waitset_new(&w), 0);
        CHECK_EQ(fin_waitset_add(w, b, handle, NULL), 0);
        fin_finish {
            fin_async_call(dispatches, NULL);
            taken_before();
            fin_cancel();
        }
        CHECK_EQ(fin_waitset_remove(w, b), 0);
        fin_waitset_close(w);
        close_both();
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A message of a channel in a set is being peeked at outside a handler when the next one comes, and the set looks in vain:
// it looks again once the first one has been released.
#include "chan.h"

static struct fin_waitset *w;
static char got;

static void receives(void *unused) {
    (void)unused;
    CHECK_EQ(fin_chan_try_recv(b, &got, 1), 1);
}

static void dispatches(void *unused) {
    (void)unused;
    CHECK_EQ(fin_waitset_dispatch(w), 0);
}

static void look_in_vain(enum kind kind, unsigned flags, bool asleep) {
    const void *bytes;
    got = 0;
    open_kind(kind, 0, flags);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, receives, NULL), 0);
    CHECK_EQ(fin_chan_send(a, "1", 1), 0);
    CHECK_EQ(fin_chan_try_peek(b, &bytes), 1);
    fin_finish {
        fin_async_call(dispatches, NULL);
        if (asleep)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_chan_send(a, "2", 1), 0);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(got, 0);
        CHECK_EQ(fin_chan_release(b), 0);
    }
    CHECK_EQ(got, '2');
    close_both();
    fin_waitset_close(w);
}

int main(void) {
    alarm(60);
    for (int asleep = 0; asleep < 2; asleep++)
        for (enum kind kind = 0; kind < KINDS; kind++)
            for (unsigned flags = 0; flags <= (kind == LOCAL ? 0 : FIN_CHAN_SHARED); flags++)
                look_in_vain(kind, flags, asleep);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A receiver that closes its end: who sends is told of the first message that it has not taken, also of one that had been
// reserved, and not of the last one that it has.
#include "chan.h"

static void take_one_and_close(void *unused) {
    (void)unused;
    char c;
    CHECK_EQ(fin_chan_recv(b, &c, 1), 1);
    CHECK_EQ(fin_chan_close(b), 0);
}

// Who takes it may close before the sender has returned.
static void last_one(enum kind kind, unsigned flags) {
    char c = 1;
    open_kind(kind, 4096, flags);
    if (kind == LOCAL) {
        fin_finish {
            fin_async_call(take_one_and_close, NULL);
            CHECK_EQ(fin_chan_send(a, &c, 1), 0);
        }
    } else {
        struct fin_thread_handle t;
        CHECK_EQ(fin_thread_start(&t, take_one_and_close, NULL), 0);
        CHECK_EQ(fin_chan_send(a, &c, 1), 0);
        fin_thread_join_nc(&t);
    }
    CHECK_EQ(fin_chan_try_send(a, &c, 1), -EPIPE);
    CHECK_EQ(fin_chan_close(a), 0);
}

static void reserved(enum kind kind) {
    void *room;
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_chan_reserve(a, 1, &room), 0);
    CHECK_EQ(fin_chan_close(b), 0);
    CHECK_EQ(fin_chan_commit(a, 1), -EPIPE);
    CHECK_EQ(fin_chan_close(a), 0);
}

// Of several that were sent it has taken one.
static void some(enum kind kind, bool peeks) {
    char c = 1;
    const void *bytes;
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_chan_send(a, &c, 1), 0);
    CHECK_EQ(fin_chan_send(a, &c, 1), 0);
    CHECK_EQ(fin_chan_recv(b, &c, 1), 1);
    if (peeks) {
        CHECK_EQ(fin_chan_peek(b, &bytes), 1);
        CHECK_EQ(fin_chan_release(b), 0);
    }
    CHECK_EQ(fin_chan_close(b), 0);
    CHECK_EQ(fin_chan_send(a, &c, 1), -EPIPE);
    CHECK_EQ(fin_chan_close(a), 0);
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        for (unsigned i = 0; i < few(2000); i++)
            last_one(kind, i % 2 && kind != LOCAL ? FIN_CHAN_SHARED : 0);
        reserved(kind);
        some(kind, false);
        some(kind, true);
    }
    return 0;
}

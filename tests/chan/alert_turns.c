// SPDX-License-Identifier: BSD-2-Clause
// A handler that an alert runs receives and answers so much that others of its thread would have turns. The computation
// that it has interrupted gets none of them: it might never give it back.
#include "alert.h"

enum { MANY = 256 }; // four rings

static void takes(void *chan) {
    unsigned number;
    CHECK_EQ(fin_chan_recv(chan, &number, sizeof number), sizeof number);
    CHECK_EQ(fin_chan_send(chan, &number, sizeof number), 0);
    handled++;
}

static void takes_in_place(void *chan) {
    const void *message;
    void *room;
    CHECK_EQ(fin_chan_peek(chan, &message), sizeof(unsigned));
    CHECK_EQ(fin_chan_reserve(chan, sizeof(unsigned), &room), 0);
    memcpy(room, message, sizeof(unsigned));
    CHECK_EQ(fin_chan_commit(chan, sizeof(unsigned)), 0);
    CHECK_EQ(fin_chan_release(chan), 0);
    handled++;
}

static void sends(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < MANY; i++) {
        CHECK_EQ(fin_chan_send_nc(a, &i, sizeof i), 0);
        CHECK_EQ(fin_chan_recv_nc(a, &(unsigned){0}, sizeof i), sizeof i);
    }
}

static void scenes(void) { compute_until(MANY); }

static void interrupts(enum kind kind, unsigned flags, fin_waitset_fn *fn) {
    handled = 0;
    CHECK_EQ(fin_waitset_new(&w), 0);
    open_kind(kind, 4096, flags);
    CHECK_EQ(fin_waitset_add(w, b, fn, b), 0);
    beside_sender(sends, scenes);
}

int main(void) {
    needs_signals();
    for (enum kind kind = PAIR; kind < KINDS; kind++)
        for (unsigned flags = 0; flags <= FIN_CHAN_SHARED; flags += FIN_CHAN_SHARED) {
            interrupts(kind, flags, takes);
            interrupts(kind, flags, takes_in_place);
        }
    return 0;
}

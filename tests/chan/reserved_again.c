// SPDX-License-Identifier: BSD-2-Clause
// Who commits a reservation for whose end somebody has waited meanwhile, and reserves there again, comes after that one, on
// each kind of channel: it is not given the same space.
#include "chan.h"

static void commit(void *room, char what) {
    *(char *)room = what;
    CHECK_EQ(fin_chan_commit(a, 1), 0);
}

static void reserves(void *unused) {
    void *room;
    (void)unused;
    CHECK_EQ(fin_chan_reserve(a, 1, &room), 0);
    fin_yield();
    commit(room, '2');
}

static void sends(void *unused) {
    (void)unused;
    CHECK_EQ(fin_chan_send(a, "2", 1), 0);
}

static void in_turn(enum kind kind, void (*other)(void *)) {
    char what;
    void *room;
    open_kind(kind, 0, 0);
    fin_finish {
        CHECK_EQ(fin_chan_reserve(a, 1, &room), 0);
        fin_async_call(other, NULL); // waits
        commit(room, '1');
        CHECK_EQ(fin_chan_reserve(a, 1, &room), 0);
        fin_yield();
        commit(room, '3');
    }
    for (char next = '1'; next <= '3'; next++) {
        CHECK_EQ(fin_chan_try_recv(b, &what, 1), 1);
        CHECK_EQ(what, next);
    }
    CHECK_EQ(fin_chan_try_recv(b, &what, 1), -EAGAIN);
    close_both();
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        in_turn(kind, reserves);
        in_turn(kind, sends);
    }
    return 0;
}

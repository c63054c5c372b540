// SPDX-License-Identifier: BSD-2-Clause
// A message is begun in one step of an AWE and sent in the next, also where it had to wait for its turn: a turn belongs to
// no frame, so an AWE that has it may give up its stack.
#include "chan.h"

static void rest(void *room, int result) {
    CHECK_EQ(result, 0);
    memcpy(*(void **)room, "later", 5);
    CHECK_EQ(fin_chan_commit(a, 5), 0);
    fin_cont_end();
}

static void begin(void *unused) {
    void *room;
    (void)unused;
    CHECK_EQ(fin_chan_reserve(a, 8, &room), 0);
    CHECK_EQ(fin_yield_on(rest, &room, sizeof room), 0); // does not return
    CHECK(false);
}

static void turns(unsigned flags, enum kind kind) {
    char p[8];
    void *room;
    open_kind(kind, 4096, flags);
    for (int i = 0; i < 50; i++) { // more often than there are places for locks that frames hold
        fin_finish {
            CHECK_EQ(fin_chan_reserve_nc(a, 8, &room), 0);
            for (int k = 0; k < 3; k++)
                fin_async_eager_call(begin, NULL);
            fin_yield();
            memcpy(room, "first", 5);
            CHECK_EQ(fin_chan_commit(a, 5), 0);
        }
        for (int k = 0; k < 4; k++) {
            CHECK_EQ(fin_chan_recv(b, p, sizeof p), 5);
            CHECK(memcmp(p, k ? "later" : "first", 5) == 0);
        }
    }
    close_both();
}

int main(void) {
    turns(0, LOCAL);
    turns(0, PAIR);
    turns(FIN_CHAN_SHARED, PAIR);
    turns(FIN_CHAN_SHARED, SOCKET);
    return 0;
}

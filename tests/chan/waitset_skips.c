// SPDX-License-Identifier: BSD-2-Clause
// Two sides that talk leave skips (src/chan/room.c), which come before their messages. Who sleeps in a waitset meanwhile is
// woken by the message, also when it has looked in between.
#include "asked.h"

// To make room is what may leave a skip.
static void asks(void) {
    void *room;
    char p[8];
    CHECK_EQ(fin_chan_reserve(a, 8, &room), 0);
    fin_sleep(FIN_MS); // it looks now, if it is woken
    memcpy(room, "question", 8);
    CHECK_EQ(fin_chan_commit(a, 8), 0);
    CHECK_EQ(fin_chan_recv(a, p, sizeof p), 8);
    CHECK_EQ(memcmp(p, "question", 8), 0);
}

int main(void) {
    alarm(60);
    for (enum kind kind = LOCAL; kind < KINDS; kind++) {
        open_kind(kind, 4096, 0);
        in_rounds(asks);
        close_both();
    }
    return 0;
}

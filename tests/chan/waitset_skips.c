// SPDX-License-Identifier: BSD-2-Clause
// Two sides that talk leave skips (src/chan/room.c), which come before their messages. Who sleeps in a waitset meanwhile is
// woken by the message, also when it has looked in between.
#include "chan.h"

enum { ROUNDS = 100 };

static struct fin_waitset *w;
static unsigned asked;

static void answers(void *unused) {
    char p[8];
    (void)unused;
    CHECK_EQ(fin_chan_recv(b, p, sizeof p), 8);
    CHECK_EQ(fin_chan_send(b, p, 8), 0);
    asked++;
}

static void serves(void *unused) {
    (void)unused;
    while (asked < ROUNDS)
        CHECK_EQ(fin_waitset_dispatch(w), 0);
}

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
        CHECK_EQ(fin_waitset_new(&w), 0);
        CHECK_EQ(fin_waitset_add(w, b, answers, NULL), 0);
        asked = 0;
        fin_finish {
            fin_async_call(serves, NULL);
            for (int i = 0; i < ROUNDS; i++)
                asks();
        }
        fin_waitset_close(w);
        close_both();
    }
    return 0;
}

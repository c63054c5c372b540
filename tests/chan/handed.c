// SPDX-License-Identifier: BSD-2-Clause
// Between AWEs of one thread a message goes to who waits, past the ring: with too little room it stays, a cancel after it
// was handed over comes too late, the next messages keep their order behind it, and who waits is told when the end closes.
#include "chan.h"

static ssize_t got[3];
static char text[3][8];

static void waits(void *number) {
    int i = (int)(intptr_t)number;
    got[i] = fin_chan_recv(b, text[i], sizeof text[i]);
    LOG("%d:%d ", i, (int)got[i]);
}

static void cancel_comes_late(void) {
    fin_finish_as(all) {
        fin_async_call(waits, (void *)0);
        CHECK_EQ(fin_chan_send(a, "one", 3), 0);
        fin_cancel_as(all);
    }
    CHECK_EQ(got[0], 3);
    fin_finish_as(all) {
        fin_async_call(waits, (void *)0);
        fin_cancel_as(all);
        CHECK_EQ(fin_chan_send_nc(a, "two", 3), 0); // after the cancel: for the next one
    }
    CHECK_EQ(got[0], -ECANCELED);
    CHECK_EQ(fin_chan_recv(b, text[0], 8), 3);
    CHECK(memcmp(text[0], "two", 3) == 0);
}

static void in_turn(void) {
    check_log[0] = 0;
    fin_finish {
        for (intptr_t i = 0; i < 3; i++)
            fin_async_call(waits, (void *)i);
        CHECK_EQ(fin_chan_send(a, "1", 1), 0);
        CHECK_EQ(fin_chan_send(a, "22", 2), 0);
        CHECK_EQ(fin_chan_try_send(a, "333", 3), 0);
    }
    CHECK_LOG("0:1 1:2 2:3 ");
}

static void no_room(void) {
    char large[100] = "too long", p[100];
    fin_finish {
        fin_async_call(waits, (void *)0);
        CHECK_EQ(fin_chan_send(a, large, sizeof large), 0);
    }
    CHECK_EQ(got[0], -EMSGSIZE);
    CHECK_EQ(fin_chan_recv(b, p, sizeof p), sizeof p);
    CHECK(memcmp(p, large, sizeof p) == 0);
}

static void takes_much(void *unused) {
    char p[8192];
    (void)unused;
    CHECK_EQ(fin_chan_recv(b, p, sizeof p), 1);
}

static void too_large_for_the_ring(void) {
    char large[8192] = {0};
    CHECK(fin_chan_most(a) < sizeof large);
    fin_finish {
        fin_async_call(takes_much, NULL);
        CHECK_EQ(fin_chan_send(a, large, fin_chan_most(a) + 1), -EMSGSIZE);
        CHECK_EQ(fin_chan_send(a, large, 1), 0);
    }
}

static void peeks(void *unused) {
    const void *bytes;
    (void)unused;
    CHECK_EQ(fin_chan_peek(b, &bytes), 4);
    CHECK(memcmp(bytes, "look", 4) == 0);
    CHECK_EQ(fin_chan_release(b), 0);
}

static void send_in_place(void) {
    void *room;
    CHECK_EQ(fin_chan_reserve(a, 8, &room), 0);
    memcpy(room, "look", 4);
    CHECK_EQ(fin_chan_commit(a, 4), 0);
}

int main(void) {
    open_kind(LOCAL, 4096, 0);
    for (int i = 0; i < 100; i++) {
        cancel_comes_late();
        in_turn();
        no_room();
        too_large_for_the_ring();
        fin_finish {
            fin_async_call(peeks, NULL);
            send_in_place();
            fin_async_call(waits, (void *)0);
            send_in_place();
        }
        CHECK_EQ(got[0], 4);
    }
    fin_finish {
        fin_async_call(waits, (void *)0);
        CHECK_EQ(fin_chan_close(a), 0);
    }
    CHECK_EQ(got[0], -ESHUTDOWN);
    CHECK_EQ(fin_chan_close(b), 0);
    return 0;
}

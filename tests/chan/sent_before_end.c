// SPDX-License-Identifier: BSD-2-Clause
// All that was sent is received before the end is told: also where the sender sends and goes in the moment between the
// receiver's look at the ring, which was empty, and its look at the socket, which says that the sender has gone.
#include "chan.h"

#include "chan/bell.h"

enum { MESSAGES = 5 };

static void (*before_look)(void);

static void before(void) {
    void (*fn)(void) = before_look;
    before_look = NULL;
    if (fn)
        fn();
}

static void look(struct ump_rx *rx) {
    before();
    fin_bell_empty(rx);
}

static bool look_whether_cut(int fd) {
    before();
    return fin_bell_is_cut(fd);
}

#define fin_bell_empty look
#define fin_bell_is_cut look_whether_cut
#include "../../src/chan/chan.c"

static void sends_and_goes(void) {
    for (unsigned i = 0; i < MESSAGES; i++)
        CHECK_EQ(fin_chan_send(a, &i, sizeof i), 0);
    CHECK_EQ(fin_chan_close(a), 0);
}

static void tries(enum kind kind) {
    unsigned word, received = 0;
    int n;
    open_kind(kind, 0, 0);
    before_look = sends_and_goes;
    while ((n = (int)fin_chan_try_recv(b, &word, sizeof word)) >= 0 || n == -EAGAIN) {
        if (n >= 0)
            CHECK_EQ(word, received++);
    }
    CHECK_EQ(n, -ESHUTDOWN);
    CHECK(!before_look);
    CHECK_EQ(received, MESSAGES);
    CHECK_EQ(fin_chan_close(b), 0);
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++)
        tries(kind);
    return 0;
}

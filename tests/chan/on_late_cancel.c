// SPDX-License-Identifier: BSD-2-Clause
// A cancel that comes when what a continuation waited for first (its turn, room for what it sends) has come, but before it
// runs: then it does not begin to wait for a message, from which no cancel would wake it any more.
#include "chan.h"

enum { SIZE = 56 };
static struct fin_chan_on on[2];
static char buffer[2][SIZE], full[SIZE];
static int results[2];

static void has(void *state, int n) {
    results[*(int *)state] = n;
    fin_cont_end();
}

static void receive(void *state, int r) {
    int i = *(int *)state;
    CHECK_EQ(r, 0);
    fin_chan_recv_on(b, buffer[i], SIZE, &on[i], has, &i, sizeof i);
}

static void send_and_receive(void *state, int r) {
    int i = *(int *)state;
    CHECK_EQ(r, 0);
    fin_chan_send_recv_on(a, full, SIZE, buffer[i], SIZE, &on[i], has, &i, sizeof i);
}

static void let_run(void) {
    for (int i = 0; i < 8; i++)
        fin_yield();
    CHECK_EQ(fin_sleep_nc(1), 0); // a socket's end sleeps in I/O
}

// The first gets a message, and gives its turn to the second.
static void with_the_turn(void) {
    fin_finish {
        for (int i = 0; i < 2; i++)
            CHECK(fin_async_cont(receive, &i, sizeof i) != NULL);
        let_run();
        CHECK_EQ(fin_chan_send(a, full, SIZE), 0);
        fin_cancel();
    }
    CHECK(results[0] == SIZE || results[0] == -ECANCELED); // another thread's, or a process's, may not have been heard
    CHECK_EQ(results[1], -ECANCELED);
    if (results[0] != SIZE)
        CHECK_EQ(fin_chan_recv(b, buffer[0], SIZE), SIZE);
}

static void with_room(void) {
    int count = 0, first = 0;
    while (fin_chan_try_send(a, full, SIZE) == 0)
        count++;
    fin_finish {
        CHECK(fin_async_cont(send_and_receive, &first, sizeof first) != NULL);
        let_run();
        for (int i = 0; i < count; i++)
            CHECK_EQ(fin_chan_try_recv(b, buffer[1], SIZE), SIZE);
        fin_cancel();
    }
    CHECK_EQ(results[0], -ECANCELED);
    fin_chan_try_recv(b, buffer[1], SIZE); // it may have been sent
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        open_kind(kind, 4096, 0);
        with_the_turn();
        with_room();
        CHECK_EQ(fin_chan_try_recv(b, buffer[0], SIZE), -EAGAIN);
        close_both();
    }
    return 0;
}

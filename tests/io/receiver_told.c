// SPDX-License-Identifier: BSD-2-Clause
// A receiver whose request has ended is not closed, nor its buffers, as long as an AWE that was given a piece, with a
// continuation, has not heard of it.
#include <fin/stream.h>

#include "net.h"

enum { MANY = 280 }; // it may be the last of so many, whose turn comes when it is time to look for events

static struct fin_buffers *pool;
static struct fin_receiver *receiver;
static struct fin_on on;
static int fd[2];
static void *piece;
static bool told;

static void received(void *state, int n) {
    (void)state;
    CHECK_EQ(n, 3);
    CHECK(memcmp(piece, "abc", 3) == 0);
    told = true;
    fin_cont_end();
}

static void receives(void *state, int unused) {
    (void)state, (void)unused;
    fin_receiver_next_on(receiver, &piece, &on, received, NULL, 0);
    CHECK(false);
}

static void yields(void *unused) {
    (void)unused;
    while (receiver)
        fin_yield();
}

static void once(int others) {
    ssize_t n;
    stream_pair(fd);
    CHECK_EQ(fin_buffers_open(&pool, 2, 16), 0);
    CHECK_EQ(fin_receiver_open(&receiver, fd[0], pool), 0);
    told = false;
    piece = NULL;
    fin_finish {
        while (others--)
            fin_async_call(yields, NULL);
        CHECK(fin_async_cont(receives, NULL, 0) != NULL);
        fin_yield();
        CHECK_EQ(send(fd[1], "abc", 3, 0), 3);
        close(fd[1]); // the request ends
        for (int i = 0; i < 3 && !piece; i++)
            fin_yield();
        while ((n = fin_receiver_close(receiver)) == -EBUSY)
            fin_yield();
        CHECK_EQ(n, 0);
        CHECK(told);
        receiver = NULL;
    }
    CHECK_EQ(fin_buffers_close(pool), 0);
    close(fd[0]);
}

int main(void) {
    for (int i = 0; i < MANY; i++)
        once(i % 140);
    return 0;
}

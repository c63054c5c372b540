// SPDX-License-Identifier: BSD-2-Clause
// Neither a group of buffers nor a receiver whose request has ended is closed as long as an AWE that was given a piece, with
// a continuation, has not heard of it.
#include <fin/stream.h>

#include "net.h"

enum { MANY = 280 }; // it may be the last of so many, whose turn comes when it is time to look for events

static struct fin_buffers *pool;
static struct fin_buffers_on buffers_on;
static struct fin_receiver *receiver;
static struct fin_on on;
static int fd[2];
static void *piece;
static bool told, over;

static void received(void *state, int n) {
    (void)state;
    CHECK_EQ(n, 3);
    CHECK(memcmp(piece, "abc", 3) == 0);
    told = true;
    fin_cont_end();
}

static void receives(void *state, int unused) {
    (void)state, (void)unused;
    if (receiver)
        fin_receiver_next_on(receiver, &piece, &on, received, NULL, 0);
    else
        fin_buffers_recv_on(pool, fd[0], &piece, &buffers_on, received, NULL, 0);
    CHECK(false);
}

static void yields(void *unused) {
    (void)unused;
    while (!over)
        fin_yield();
}

// What gives the piece is closed as soon as it can be, beside so many AWEs that yield.
static void closed_when_told(int others, void *taken) {
    ssize_t r;
    over = told = false;
    piece = NULL;
    fin_finish {
        while (others--)
            fin_async_call(yields, NULL);
        CHECK(fin_async_cont(receives, NULL, 0) != NULL);
        fin_yield();
        CHECK_EQ(send(fd[1], "abc", 3, 0), 3);
        if (taken)
            CHECK_EQ(fin_buffers_put(pool, taken), 0);
        if (receiver)
            close(fd[1]); // its request ends
        for (int i = 0; receiver && i < 3 && !piece; i++)
            fin_yield();
        while ((r = receiver ? fin_receiver_close(receiver) : fin_buffers_close(pool)) == -EBUSY)
            fin_yield();
        CHECK_EQ(r, 0);
        CHECK(told);
        over = true;
    }
}

static void buffers(int others, bool lacks) {
    void *taken = NULL;
    CHECK_EQ(fin_buffers_open(&pool, 1, 16), 0);
    if (lacks) {
        CHECK_EQ(send(fd[1], "x", 1, 0), 1);
        CHECK_EQ(fin_buffers_recv(pool, fd[0], &taken, 0), 1);
    }
    closed_when_told(others, taken);
}

static void of_receiver(int others) {
    stream_pair(fd);
    CHECK_EQ(fin_buffers_open(&pool, 2, 16), 0);
    CHECK_EQ(fin_receiver_open(&receiver, fd[0], pool), 0);
    closed_when_told(others, NULL);
    receiver = NULL;
    CHECK_EQ(fin_buffers_close(pool), 0);
    close(fd[0]);
}

int main(void) {
    stream_pair(fd);
    for (int i = 0; i < MANY; i++)
        buffers(i % 140, i % 4 == 0);
    close(fd[0]);
    close(fd[1]);
    for (int i = 0; i < MANY; i++)
        of_receiver(i % 140);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// The buffers of a group are not freed as long as an AWE that was given one, with a continuation, has not heard of it.
#include <fin/stream.h>

#include "net.h"

enum { MANY = 280 }; // it may be the last of so many, whose turn comes when it is time to look for events

static struct fin_buffers *pool;
static struct fin_buffers_on on;
static int fd[2];
static void *piece;
static bool told, lacks;

static void received(void *state, int n) {
    (void)state;
    CHECK_EQ(n, 3);
    CHECK(memcmp(piece, "abc", 3) == 0);
    told = true;
    fin_cont_end();
}

static void receives(void *state, int unused) {
    (void)state, (void)unused;
    fin_buffers_recv_on(pool, fd[0], &piece, &on, received, NULL, 0);
    CHECK(false);
}

static void yields(void *unused) {
    (void)unused;
    while (pool)
        fin_yield();
}

static void once(int others) {
    void *taken = NULL;
    int r = -EBUSY;
    CHECK_EQ(fin_buffers_open(&pool, 1, 16), 0);
    if (lacks) {
        CHECK_EQ(send(fd[1], "x", 1, 0), 1);
        CHECK_EQ(fin_buffers_recv(pool, fd[0], &taken, 0), 1);
    }
    told = false;
    fin_finish {
        while (others--)
            fin_async_call(yields, NULL);
        CHECK(fin_async_cont(receives, NULL, 0) != NULL);
        fin_yield();
        CHECK_EQ(send(fd[1], "abc", 3, 0), 3);
        if (taken)
            CHECK_EQ(fin_buffers_put(pool, taken), 0);
        while ((r = fin_buffers_close(pool)) == -EBUSY)
            fin_yield();
        CHECK_EQ(r, 0);
        CHECK(told);
        pool = NULL;
    }
}

int main(void) {
    stream_pair(fd);
    for (int i = 0; i < MANY; i++) {
        lacks = i % 4 == 0;
        once(i % 140);
    }
    return 0;
}

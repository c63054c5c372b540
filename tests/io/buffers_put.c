// SPDX-License-Identifier: BSD-2-Clause
// Only what the program has been given can be put back, and once: not what a receiver has received and nobody has taken, nor
// what a receive is about to use. So nothing that has come is lost.
#include <fin/stream.h>

#include "net.h"

static int pair[2];
static char c;

static void begin(struct fin_buffers **b) {
    stream_pair(pair);
    CHECK_EQ(fin_buffers_open(b, 1, 64), 0);
}

static void end(struct fin_buffers *b) {
    CHECK_EQ(fin_buffers_close(b), 0);
    close(pair[0]);
    close(pair[1]);
}

// The kernel may have put it there already.
static void received_by_nobody(void) {
    struct fin_buffers *b;
    struct fin_receiver *r;
    void *piece, *other;
    begin(&b);
    CHECK_EQ(fin_receiver_open(&r, pair[0], b), 0);
    for (c = 'a'; c <= 'z'; c++) {
        CHECK_EQ(write(pair[1], &c, 1), 1);
        CHECK_EQ(fin_receiver_next(r, &piece), 1);
        CHECK_EQ(*(char *)piece, c);
        CHECK_EQ(fin_buffers_put(b, piece), 0);
        fin_timeout(FIN_US) { // it receives whatever comes
            CHECK_EQ(fin_receiver_next(r, &other), -ECANCELED);
        }
        c++;
        CHECK_EQ(write(pair[1], &c, 1), 1);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_buffers_put(b, piece), -EINVAL);
        CHECK_EQ(fin_receiver_next(r, &piece), 1);
        CHECK_EQ(*(char *)piece, c);
        CHECK_EQ(fin_buffers_put(b, piece), 0);
        CHECK_EQ(fin_buffers_put(b, piece), -EINVAL);
    }
    CHECK_EQ(fin_receiver_close(r), 0);
    end(b);
}

static void receives(void *buffers) {
    void *piece;
    CHECK_EQ(fin_buffers_recv(buffers, pair[0], &piece, 0), 1);
    CHECK_EQ(*(char *)piece, 'x');
    CHECK_EQ(fin_buffers_put(buffers, piece), 0);
}

static void about_to_be_used(void) {
    struct fin_buffers *b;
    void *piece;
    begin(&b);
    CHECK_EQ(write(pair[1], "x", 1), 1);
    CHECK_EQ(fin_buffers_recv(b, pair[0], &piece, 0), 1);
    CHECK_EQ(fin_buffers_put(b, piece), 0);
    fin_finish {
        fin_async_call(receives, b);
        CHECK_EQ(write(pair[1], "x", 1), 1);
        for (int i = 0; i < 10; i++) {
            CHECK_EQ(fin_buffers_put(b, piece), -EINVAL);
            fin_yield();
        }
    }
    end(b);
}

int main(void) {
    received_by_nobody();
    about_to_be_used();
    return 0;
}

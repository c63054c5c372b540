// SPDX-License-Identifier: BSD-2-Clause
// The number of a registered file is none for acceptors, receivers and buffers: they say so at once, and no buffer is used.
#include <fin/fixed.h>
#include <fin/on.h>
#include <fin/stream.h>

#include "net.h"

static int pair[2], number, result;
static struct fin_buffers *buffers;
static struct fin_buffers_on on;
static void *piece;

static void received(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

static void receives(void *state, int n) {
    (void)state;
    CHECK_EQ(n, 0);
    result = fin_buffers_recv_on(buffers, number, &piece, &on, received, NULL, 0);
    fin_cont_end();
}

int main(void) {
    struct fin_acceptor *a;
    struct fin_receiver *r;
    stream_pair(pair);
    number = fin_file_register(pair[0]);
    CHECK(number >= 0);
    CHECK_EQ(fin_buffers_open(&buffers, 1, 64), 0);
    CHECK_EQ(fin_acceptor_open(&a, number, 0), -EBADF);
    CHECK_EQ(fin_receiver_open(&r, number, buffers), -EBADF);
    for (int i = 0; i < 2; i++) { // also where something has come
        CHECK_EQ(fin_buffers_recv(buffers, number, &piece, 0), -EBADF);
        CHECK_EQ(fin_buffers_recv(buffers, number, &piece, MSG_DONTWAIT), -EBADF);
        memset(&on, i ? 0xff : 0, sizeof on); // whatever lies there
        fin_finish {
            CHECK(fin_async_cont(receives, NULL, 0) != NULL);
        }
        CHECK_EQ(result, -EBADF);
        CHECK(piece == NULL);
        CHECK_EQ(write(pair[1], "x", 1), 1);
    }
    CHECK_EQ(fin_buffers_recv(buffers, pair[0], &piece, 0), 2);
    CHECK_EQ(fin_buffers_put(buffers, piece), 0);
    CHECK_EQ(fin_buffers_close(buffers), 0);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A socket may have a time after which a receive gives up (SO_RCVTIMEO). Who waits on a thread of the ring with a buffer
// already chosen, as for one that is ready for ever, waits on all the same, and the buffer is one of the group again.
#include <sys/time.h>

#include <fin/stream.h>

#include "errors.h"

enum { PIECES = 2, TIMES = 10 };

static struct fin_buffers *buffers;
static struct fin_buffers_on on;
static void *piece, *piece_on;
static int fd[2], peer[2], got, got_on;

static void ended(void *state, int r) {
    (void)state;
    got_on = r;
    fin_cont_end();
}

static void receives(void *state, int unused) {
    (void)state, (void)unused;
    fin_buffers_recv_on(buffers, fd[1], &piece_on, &on, ended, NULL, 0);
}

static void socket_with_time(int i) {
    const struct timeval t = {.tv_usec = 5000};
    socket_with_error(&fd[i], &peer[i]);
    CHECK_EQ(setsockopt(fd[i], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t), 0);
}

static void all_are_there(void) {
    void *pieces[PIECES + 1];
    for (int i = 0; i <= PIECES; i++) {
        CHECK_EQ(send(peer[0], "x", 1, 0), 1);
        CHECK_EQ(fin_buffers_recv(buffers, fd[0], &pieces[i], MSG_DONTWAIT), i < PIECES ? 1 : -ENOBUFS);
    }
}

int main(void) {
    alarm(30);
    CHECK_EQ(fin_buffers_open(&buffers, PIECES, 16), 0);
    socket_with_time(0);
    socket_with_time(1);
    CHECK_EQ(fin_buffers_recv(buffers, fd[0], &piece, MSG_DONTWAIT), -EAGAIN);
    fin_finish {
        fin_async { got = (int)fin_buffers_recv(buffers, fd[0], &piece, 0); };
        CHECK(fin_async_cont(receives, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(TIMES * 5 * FIN_MS), 0);
        CHECK_EQ(send(peer[0], "ab", 2, 0), 2);
        CHECK_EQ(send(peer[1], "abc", 3, 0), 3);
    }
    CHECK_EQ(got, 2);
    CHECK_EQ(got_on, 3);
    CHECK_EQ(fin_buffers_put(buffers, piece), 0);
    CHECK_EQ(fin_buffers_put(buffers, piece_on), 0);
    all_are_there();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A descriptor is closed by fin_close while a receive of many buffers waits on a thread of the ring, and a socket without
// data gets its number. When the kernel's wait ends for a time of the socket's own, the receive ends: it does not go on with
// the other one.
#include <sys/time.h>

#include <fin/stream.h>

#include "errors.h"

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

static void becomes_another(int i) {
    CHECK_EQ(fin_close(fd[i]), 0);
    CHECK_EQ(socket(AF_INET, SOCK_DGRAM, 0), fd[i]);
}

int main(void) {
    alarm(30);
    CHECK_EQ(fin_buffers_open(&buffers, 2, 16), 0);
    socket_with_time(0);
    socket_with_time(1);
    fin_finish {
        fin_async { got = (int)fin_buffers_recv(buffers, fd[0], &piece, 0); };
        CHECK(fin_async_cont(receives, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        becomes_another(0);
        becomes_another(1);
    }
    CHECK_EQ(got, -EBADF);
    CHECK_EQ(got_on, -EBADF);
    CHECK_EQ(fin_buffers_close(buffers), 0);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Two sockets that are ready for ever, and who receives from them into buffers of a group: one with a stack, one with a
// continuation. Both wait on threads of the ring.
#ifndef FIN_TESTS_IO_INTO_BUFFERS_H
#define FIN_TESTS_IO_INTO_BUFFERS_H

#include <sys/time.h>

#include <fin/stream.h>

#include "errors.h"

static struct fin_buffers *buffers;
static void *piece[2];
static int fd[2], peer[2], got[2];

static inline void open_both(unsigned pieces) {
    CHECK_EQ(fin_buffers_open(&buffers, pieces, 16), 0);
    for (int i = 0; i < 2; i++)
        socket_with_error(&fd[i], &peer[i]);
}

// They have a time of their own, after which a receive gives up (SO_RCVTIMEO).
static inline void give_times(void) {
    const struct timeval t = {.tv_usec = 5000};
    for (int i = 0; i < 2; i++)
        CHECK_EQ(setsockopt(fd[i], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t), 0);
}

static inline void receives(void *unused) {
    (void)unused;
    got[0] = (int)fin_buffers_recv(buffers, fd[0], &piece[0], 0);
}

static inline void received_on(void *state, int n) {
    (void)state;
    got[1] = n;
    fin_cont_end();
}

static inline void receives_on(void *state, int unused) {
    static struct fin_buffers_on on;
    (void)state, (void)unused;
    fin_buffers_recv_on(buffers, fd[1], &piece[1], &on, received_on, NULL, 0);
}

static inline void send_to_both(void) {
    CHECK_EQ(send(peer[0], "ab", 2, 0), 2);
    CHECK_EQ(send(peer[1], "abc", 3, 0), 3);
}

// Both have received what was sent, and no buffer of so many is lost.
static inline void check_both(int pieces) {
    void *taken;
    CHECK_EQ(got[0], 2);
    CHECK_EQ(got[1], 3);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fin_buffers_put(buffers, piece[i]), 0);
    for (int i = 0; i <= pieces; i++) {
        CHECK_EQ(send(peer[0], "x", 1, 0), 1);
        CHECK_EQ(fin_buffers_recv(buffers, fd[0], &taken, MSG_DONTWAIT), i < pieces ? 1 : -ENOBUFS);
    }
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// What older kernels do in another way, for scenarios that look closely.
#ifndef FIN_TESTS_IO_KERNELS_H
#define FIN_TESTS_IO_KERNELS_H

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <fin.h>

#include "check.h"

// Can a read be told not to wait? Of files that is for their file system to know.
static inline bool tells_waits(int fd, off_t at) {
    char c;
    struct iovec v = {&c, 1};
    return preadv2(fd, &v, 1, at, RWF_NOWAIT) >= 0 || errno == EAGAIN;
}

// Since Linux 6.4.
static inline bool pipes_tell_waits(void) {
    int pipes[2];
    CHECK_EQ(pipe(pipes), 0);
    bool tells = tells_waits(pipes[0], -1);
    close(pipes[0]);
    close(pipes[1]);
    return tells;
}

// Does a splice to a Unix stream socket wait for room? Before Linux 6.5 its bytes go behind the last ones.
static inline bool splices_wait_for_room(void) {
    static const char zeros[65536];
    int pipes[2], sockets[2];
    CHECK_EQ(pipe(pipes), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
    while (send(sockets[1], zeros, sizeof zeros, MSG_DONTWAIT) > 0)
        ;
    CHECK_EQ(write(pipes[1], "x", 1), 1);
    bool waits = splice(pipes[0], NULL, sockets[1], NULL, 1, SPLICE_F_NONBLOCK) < 0;
    for (int i = 0; i < 2; i++) {
        close(pipes[i]);
        close(sockets[i]);
    }
    return waits;
}

#endif

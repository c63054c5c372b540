// SPDX-License-Identifier: BSD-2-Clause
// A socket with something in its error queue, which nobody reads: poll(2) calls it ready for ever.
#ifndef FIN_TESTS_IO_ERRORS_H
#define FIN_TESTS_IO_ERRORS_H

#include <poll.h>

#include "net.h"

static inline void socket_with_error(int *fd, int *peer) {
    const int yes = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, own;
    socklen_t size = sizeof own;
    char c;
    int closed = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK_EQ(bind(closed, (struct sockaddr *)&address, size), 0);
    CHECK_EQ(getsockname(closed, (struct sockaddr *)&address, &size), 0);
    close(closed);
    *fd = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK_EQ(setsockopt(*fd, IPPROTO_IP, IP_RECVERR, &yes, sizeof yes), 0);
    CHECK_EQ(connect(*fd, (struct sockaddr *)&address, size), 0);
    CHECK_EQ(getsockname(*fd, (struct sockaddr *)&own, &size), 0);
    CHECK_EQ(send(*fd, "x", 1, 0), 1); // nobody is there
    CHECK_EQ(fin_poll(*fd, POLLIN), POLLERR);
    CHECK_EQ(recv(*fd, &c, 1, MSG_DONTWAIT), -1); // the error itself is told once
    CHECK_EQ(fin_poll(*fd, POLLIN), POLLERR);
    *peer = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK_EQ(bind(*peer, (struct sockaddr *)&address, size), 0);
    CHECK_EQ(connect(*peer, (struct sockaddr *)&own, size), 0);
}

#endif

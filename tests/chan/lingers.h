// SPDX-License-Identifier: BSD-2-Clause
// A socket whose close takes a minute, unless its peer reads all; or one where that one lies unread.
#ifndef FIN_TESTS_CHAN_LINGERS_H
#define FIN_TESTS_CHAN_LINGERS_H

#include <arpa/inet.h>

#include "chan.h"

static inline int lies_in_another(int fd) {
    int pair[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    send_descriptor(pair[0], fd);
    close(fd);
    close(pair[0]);
    return pair[1];
}

static inline int lingers(int *reader, bool in_another) {
    static const char bytes[4096];
    const int little = 4096;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0), s = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &little, sizeof little), 0);
    CHECK_EQ(setsockopt(s, SOL_SOCKET, SO_SNDBUF, &little, sizeof little), 0);
    CHECK_EQ(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    CHECK_EQ(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    CHECK_EQ(listen(listener, 1), 0);
    CHECK_EQ(connect(s, (struct sockaddr *)&at, sizeof at), 0);
    CHECK((*reader = accept(listener, NULL, NULL)) >= 0);
    CHECK_EQ(close(listener), 0);
    CHECK_EQ(setsockopt(s, SOL_SOCKET, SO_LINGER, &(struct linger){1, 60}, sizeof(struct linger)), 0);
    while (send(s, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
    return in_another ? lies_in_another(s) : s;
}

#endif

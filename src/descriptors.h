// SPDX-License-Identifier: BSD-2-Clause
// Descriptors that a message brought. Whoever sends over a socket that others have, too, can make the kernel add some, and
// put other things before them: a receiver that looks at the first header only would keep what it does not know of.
#ifndef FIN_DESCRIPTORS_H
#define FIN_DESCRIPTORS_H

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIN_SCM_PIDFD = 4 }; // SCM_PIDFD of Linux 6.5

static inline size_t fin_descriptors_in(const struct cmsghdr *c) {
    bool are = c->cmsg_level == SOL_SOCKET && (c->cmsg_type == SCM_RIGHTS || c->cmsg_type == FIN_SCM_PIDFD);
    return are && c->cmsg_len > CMSG_LEN(0) ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
}

static inline int fin_descriptor_of(const struct cmsghdr *c, size_t i) {
    int fd;
    memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
    return fd;
}

// stranger.c: what another process sent. Waits some milliseconds at most, unless hundreds are being closed.
void fin_close_stranger(int fd);

static inline void fin_descriptors_close(struct msghdr *m) {
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        for (size_t i = 0; i < fin_descriptors_in(c); i++)
            fin_close_stranger(fin_descriptor_of(c, i));
}

// Did anything come that the sender cannot have meant to send?
static inline bool fin_descriptors_strange(struct msghdr *m) {
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    return c && (CMSG_NXTHDR(m, c) || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS);
}

// Takes all that came: how many. Pre: there is room for as many as the control messages have room for.
static inline int fin_descriptors_take(struct msghdr *m, int *fds) {
    int n = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        for (size_t i = 0; i < fin_descriptors_in(c); i++)
            fds[n++] = fin_descriptor_of(c, i);
    return n;
}

// Asks the kernel to add none.
static inline void fin_descriptors_refuse(int fd) {
#ifndef SO_PASSPIDFD
    enum { SO_PASSPIDFD = 76 };
#endif
    const int no = 0;
    setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &no, sizeof no);
    setsockopt(fd, SOL_SOCKET, SO_PASSPIDFD, &no, sizeof no);
}

static inline void fin_close_strangers(const int *fds, int count) {
    for (int i = 0; i < count; i++)
        if (fds[i] >= 0)
            fin_close_stranger(fds[i]);
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// What several scenarios of this room need.
#ifndef FIN_TESTS_IO_NET_H
#define FIN_TESTS_IO_NET_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fin.h>

#include "process.h"

// A TCP socket of the loopback address, listening unless backlog is negative; `address` becomes its address.
static inline int tcp_listen(struct sockaddr_in *address, int backlog) {
    socklen_t size = sizeof *address;
    memset(address, 0, size);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    CHECK_EQ(bind(fd, (struct sockaddr *)address, sizeof *address), 0);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)address, &size), 0);
    if (backlog >= 0)
        CHECK_EQ(listen(fd, backlog), 0);
    return fd;
}

static inline int tcp_connect(const struct sockaddr_in *address) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    CHECK_EQ(connect(fd, (const struct sockaddr *)address, sizeof *address), 0);
    return fd;
}

// Nobody accepts, and the queue is full: who connects waits.
struct full_listener {
    struct sockaddr_in address;
    int fd, fill[8];
};

static inline void listen_and_fill(struct full_listener *l) {
    l->fd = tcp_listen(&l->address, 0);
    for (int i = 0; i < 8; i++) {
        l->fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(l->fill[i], (struct sockaddr *)&l->address, sizeof l->address);
    }
}

static inline void close_filled(struct full_listener *l) {
    for (int i = 0; i < 8; i++)
        close(l->fill[i]);
    close(l->fd);
}

// A listening Unix socket without a name in the file system.
static inline int unix_listen(struct sockaddr_un *address, socklen_t *size, int backlog) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    CHECK_EQ(bind(fd, (struct sockaddr *)address, sizeof address->sun_family), 0);
    *size = sizeof *address;
    CHECK_EQ(getsockname(fd, (struct sockaddr *)address, size), 0);
    CHECK_EQ(listen(fd, backlog), 0);
    return fd;
}

static inline void stream_pair(int fd[2]) { CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0); }

// Has m carry a descriptor, in that room.
static inline void put_descriptor(struct msghdr *m, void *control, size_t size, int fd) {
    m->msg_control = control;
    m->msg_controllen = size;
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    c->cmsg_len = CMSG_LEN(sizeof(int));
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(c), &fd, sizeof(int));
}

// An AWE waits for a byte that another sends.
static inline void byte_comes(void) {
    static int fd[2];
    static char c;
    c = 0;
    stream_pair(fd);
    fin_finish {
        fin_async { CHECK_EQ(fin_recv(fd[0], &c, 1, 0), 1); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_send(fd[1], "x", 1, 0), 1);
    }
    CHECK_EQ(c, 'x');
    close(fd[0]);
    close(fd[1]);
}

// Empty, and gone when it is closed.
static inline int nameless_file(void) {
    char path[] = "/tmp/fin-io-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    unlink(path);
    return fd;
}

static inline bool on_epoll(void) { return strncmp(fin_io_backend(), "epoll", 5) == 0; }

// A stream whose bytes say where they stand: byte i has the value i % 251. `from`: where p begins.
static inline void number_bytes(void *p, size_t n, size_t from) {
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)p)[i] = (unsigned char)((from + i) % 251);
}

static inline void check_numbers(const void *p, size_t n, size_t from) {
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(((const unsigned char *)p)[i], (from + i) % 251);
}

// A small generator, so that a scenario is the same each time.
static inline unsigned next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// Bytes of which a few tell where they are from; and a file that has them.
static inline int make_pattern(unsigned char *pattern, unsigned size) {
    int file = nameless_file();
    for (unsigned i = 0; i < size; i++)
        pattern[i] = (unsigned char)(i * 7 + i / 251 + i / 5000 * 31);
    CHECK_EQ(write(file, pattern, size), size);
    return file;
}

#endif

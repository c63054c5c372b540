// SPDX-License-Identifier: BSD-2-Clause
// What the scenarios of this room need. Most run over each kind of channel: between AWEs of one thread, within a process,
// and as between processes (here with both ends in one, unless the scenario forks).
#ifndef FIN_TESTS_CHAN_CHAN_H
#define FIN_TESTS_CHAN_CHAN_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sys/socket.h>

#include <fin.h>

#include "process.h"

enum kind { LOCAL, PAIR, SOCKET, KINDS };

static struct fin_chan *a, *b;

// `size` 0: the default; 4096 is the smallest.
__attribute__((unused)) static void open_kind(enum kind kind, size_t size, unsigned flags) {
    struct fin_chan_options o = {size, flags};
    if (kind != SOCKET) {
        o.flags |= kind == LOCAL ? FIN_CHAN_LOCAL : 0;
        CHECK_EQ(fin_chan_pair(&a, &b, &o), 0);
        return;
    }
    int fd[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), 0);
    CHECK_EQ(fin_chan_offer(&a, fd[0], &o), 0);
    CHECK_EQ(fin_chan_take(&b, fd[1], flags), 0);
}

__attribute__((unused)) static void close_both(void) {
    CHECK_EQ(fin_chan_close(a), 0);
    CHECK_EQ(fin_chan_close(b), 0);
}

// Bytes that tell which message they belong to.
__attribute__((unused)) static void fill(unsigned char *p, size_t size, unsigned number) {
    for (size_t i = 0; i < size; i++)
        p[i] = (unsigned char)(number * 31 + i * 7);
}

__attribute__((unused)) static bool filled(const unsigned char *p, size_t size, unsigned number) {
    for (size_t i = 0; i < size; i++)
        if (p[i] != (unsigned char)(number * 31 + i * 7))
            return false;
    return true;
}

// Without a channel.
static inline void send_descriptor(int to, int fd) {
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control = {{0}};
    struct iovec v = {"x", 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    CHECK_EQ(sendmsg(to, &m, 0), 1);
}

static inline unsigned next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}
static inline unsigned below(unsigned *state, unsigned of) { return next_random(state) % of; }

// As many turns as chance says, below `most`; and once in `sleeps`, a sleep.
__attribute__((unused)) static void pause_a_while(unsigned *seed, unsigned most, unsigned sleeps) {
    for (unsigned n = next_random(seed) % most; n; n--)
        fin_yield();
    if (next_random(seed) % sleeps == 0)
        CHECK_EQ(fin_sleep_nc(1), 0);
}

static inline FIN_BLOCKING int next_within(struct fin_waitset *w, uint64_t ns, void **arg) {
    int r = -ECANCELED;
    fin_timeout(ns) {
        r = fin_waitset_next(w, arg);
    }
    return r;
}

static inline unsigned few(unsigned many) { return getenv("FIN_FEW") ? many / 20 + 1 : many; }

// A child process that runs fn(arg) and ends; with both ends of a socket pair between it and this one in sockets[].
static int sockets[2];
__attribute__((unused)) static pid_t child(void (*fn)(void *), void *arg) {
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        close(sockets[0]);
        fn(arg);
        _exit(0);
    }
    close(sockets[1]);
    return pid;
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// A process that writes at random all over the memory of a channel, both its lines and ours, and floods the sockets.
#ifndef FIN_TESTS_CHAN_SCRIBBLE_H
#define FIN_TESTS_CHAN_SCRIBBLE_H

#include "chan.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

static unsigned seed;

struct got {
    uint64_t *words;
    size_t count;
    int fd[4], fds;
};

// Takes the offer apart by hand: the memory, and the other direction's socket.
static void take_apart(struct got *g) {
    char hello[64], control[256];
    struct iovec v = {hello, sizeof hello};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct stat s;
    int fds[2];
    CHECK(recvmsg(sockets[1], &m, 0) > 0);
    memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fds);
    CHECK_EQ(fstat(fds[0], &s), 0);
    CHECK_EQ(ftruncate(fds[0], 0), -1); // sealed
    g->words = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    CHECK(g->words != MAP_FAILED);
    g->count = (size_t)s.st_size / 8;
    g->fd[0] = sockets[1];
    g->fd[1] = fds[1];
}

static void send_packet(int fd) {
    char bytes[8] = {0};
    union {
        char room[CMSG_SPACE(8 * sizeof(int))];
        struct cmsghdr align;
    } control = {.room = {0}};
    unsigned n = next_random(&seed) % 9;
    struct iovec v = {bytes, next_random(&seed) % 100 ? 1 + next_random(&seed) % 8 : 0};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    if (n && next_random(&seed) % 4 == 0) {
        m.msg_control = control.room;
        m.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        *c = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(n * sizeof(int))};
    }
    sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Words that look like headers, indices and numbers of their time, more often than not.
static uint64_t word(void) {
    uint64_t r = next_random(&seed);
    switch (next_random(&seed) % 8) {
    case 0:
        return r << 40 | r;
    case 1:
        return next_random(&seed) % 200;
    case 2:
        return UINT64_MAX - r % 3;
    default: // a header of one of the first laps
        return (uint64_t)(r % 4 ? r % 3000 : r << 12) << 32 | (uint64_t)(1 + next_random(&seed) % 20) << 8 | (1 + r % 3);
    }
}

__attribute__((unused)) static void scribble(void *mode) {
    struct got g;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    take_apart(&g);
    bool gently = *(int *)mode == 1, sockets_too = *(int *)mode == 2;
    for (unsigned i = 0;; i++) {
        size_t at = next_random(&seed) % 2 ? next_random(&seed) % (4096 / 8) : next_random(&seed) % g.count;
        if (next_random(&seed) % 2)
            at &= ~(size_t)7; // where headers are
        __atomic_store_n(&g.words[at], word(), __ATOMIC_RELAXED);
        if (sockets_too && i % 50 == 0)
            send_packet(g.fd[next_random(&seed) % 2]);
        if (gently && i % 20 == 0)
            sched_yield();
    }
}

#endif

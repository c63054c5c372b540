// SPDX-License-Identifier: BSD-2-Clause
// A channel whose other side is played by hand: its memory, its socket, and what is in them.
#ifndef FIN_TESTS_CHAN_BY_HAND_H
#define FIN_TESTS_CHAN_BY_HAND_H

#include <sys/mman.h>

#include "chan.h"

static char *memory;
static int other[2]; // to what the end receives on, and of what it sends on
static size_t page;

static void open_by_hand(void) {
    char hello[64], control[256];
    struct iovec v = {hello, sizeof hello};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    int s[2], fds[2];
    page = (size_t)sysconf(_SC_PAGESIZE);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
    CHECK_EQ(fin_chan_offer(&a, s[0], &(struct fin_chan_options){page, 0}), 0);
    CHECK(recvmsg(s[1], &m, 0) > 0);
    memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fds);
    memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    CHECK(memory != MAP_FAILED);
    close(fds[0]);
    other[0] = fds[1];
    other[1] = s[1];
}

static void close_other(void) {
    close(other[0]);
    close(other[1]);
}

// The header of a line of the first lap.
static void put(unsigned line, uint64_t size, uint64_t kind) {
    __atomic_store_n((uint64_t *)(memory + page + line * 64), size << 32 | 1 << 8 | kind, __ATOMIC_RELEASE);
}

#endif

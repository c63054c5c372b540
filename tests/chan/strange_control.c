// SPDX-License-Identifier: BSD-2-Clause
// A peer that has the receiver's socket, too, makes the kernel put its own control messages before descriptors that it
// sends: that is an error, and none of them outlives the end. What it had asked for before the socket was taken is undone.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>

#include "chan.h"

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76
#endif

enum { LINES = 1024, MANY = 8 };

static struct fin_chan *c;
static int peer, copy; // the peer's end; its copy of the receiver's, as it may have been who made the two

static void send_descriptors(int s, const void *data, size_t size, const int *fds, unsigned count) {
    union {
        char room[CMSG_SPACE(MANY * sizeof(int))];
        struct cmsghdr align;
    } control = {.room = {0}};
    struct iovec v = {(void *)(uintptr_t)data, size};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control.room,
                       .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(h), fds, count * sizeof(int));
    CHECK_EQ(sendmsg(s, &m, 0), size);
}

static void ask_for(int option) {
    int yes = 1;
    if (setsockopt(copy, SOL_SOCKET, option, &yes, sizeof yes) != 0)
        CHECK_EQ(errno, ENOPROTOOPT); // Linux 6.5
}

static void open_channel(int option) {
    const struct {
        char magic[8];
        uint32_t version, lines;
    } greeting = {"fin-chan", 5, LINES};
    int s[2], pair[2], memory = memfd_create("test", MFD_ALLOW_SEALING);
    CHECK_EQ(ftruncate(memory, sysconf(_SC_PAGESIZE) + 2 * LINES * 64), 0);
    CHECK_EQ(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    peer = s[0];
    copy = dup(s[1]);
    ask_for(option);
    send_descriptors(peer, &greeting, sizeof greeting, (int[]){memory, pair[1]}, 2);
    CHECK_EQ(fin_chan_take(&c, s[1], 0), 0);
    int value = 1;
    if (getsockopt(copy, SOL_SOCKET, option, &value, &(socklen_t){sizeof value}) == 0)
        CHECK_EQ(value, 0);
    else
        CHECK_EQ(errno, ENOPROTOOPT);
    close(memory);
    close(pair[0]);
    close(pair[1]);
}

static void receives(int *result) {
    char buffer[64];
    *result = (int)fin_chan_recv(c, buffer, sizeof buffer);
}

static void strange(int option, unsigned count) {
    int fds[MANY], before = open_descriptors(), result = 0;
    open_channel(option);
    ask_for(option);
    for (unsigned i = 0; i < MANY; i++)
        fds[i] = open("/dev/null", O_RDONLY);
    fin_finish {
        fin_async_call((void (*)(void *))receives, &result);
        for (int i = 0; i < 3; i++) {
            if (count)
                send_descriptors(peer, "", 1, fds, count);
            else
                CHECK_EQ(send(peer, "", 1, 0), 1);
        }
        fin_sleep(20 * FIN_MS);
        if (!count)
            fin_cancel();
    }
    CHECK(result == -EPROTO || (!count && result == -ECANCELED));
    for (unsigned i = 0; i < MANY; i++)
        close(fds[i]);
    CHECK_EQ(fin_chan_close(c), 0);
    close(peer);
    close(copy);
    until_open_descriptors(before);
}

int main(void) {
    alarm(60);
    CHECK_EQ(fin_sleep(1), 0); // what the thread waits with is there
    for (int i = 0; i < 2; i++) {
        strange(SO_PASSCRED, MANY);
        strange(SO_PASSPIDFD, MANY);
        strange(SO_PASSPIDFD, 0);
    }
    return 0;
}

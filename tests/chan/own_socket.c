// SPDX-License-Identifier: BSD-2-Clause
// What an end receives on is not what the other side gave away, or was given: who has the same open file says how packets
// come there, and which signal is sent for them to a thread that monitors the channel. So nor does it matter what the
// connection asks of the kernel on the side that offers.
#include "chan.h"
#include "chan/chan.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { LINES = 1024 };

static bool is_same_file(int fd, int other) {
    int flags = fcntl(other, F_GETFL);
    CHECK_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    bool same = fcntl(other, F_GETFL) != flags;
    CHECK_EQ(fcntl(fd, F_SETFL, 0), 0);
    return same;
}

static void close_all(const int *fds, int n) {
    for (int i = 0; i < n; i++)
        CHECK_EQ(close(fds[i]), 0);
}

struct letter {
    struct greeting {
        char magic[8];
        uint32_t version, lines;
    } greeting;
    int fds[2];
    struct iovec v;
    struct msghdr m;
    union {
        char room[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control;
};

static struct cmsghdr *address(struct letter *l) {
    l->v = (struct iovec){&l->greeting, sizeof l->greeting};
    l->m = (struct msghdr){
        .msg_iov = &l->v, .msg_iovlen = 1, .msg_control = l->control.room, .msg_controllen = sizeof l->control.room};
    struct cmsghdr *h = CMSG_FIRSTHDR(&l->m);
    *h = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof l->fds), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    return h;
}

static void offered_to_it(void) {
    int s[2], pair[2];
    struct letter l = {.greeting = {"fin-chan", 5, LINES}};
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    l.fds[0] = memfd_create("test", MFD_ALLOW_SEALING);
    l.fds[1] = pair[1];
    CHECK_EQ(ftruncate(l.fds[0], sysconf(_SC_PAGESIZE) + 2 * LINES * 64), 0);
    CHECK_EQ(fcntl(l.fds[0], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    memcpy(CMSG_DATA(address(&l)), l.fds, sizeof l.fds);
    CHECK_EQ(sendmsg(s[0], &l.m, 0), sizeof l.greeting);
    CHECK_EQ(fin_chan_take(&a, s[1], 0), 0);
    CHECK(is_same_file(pair[1], a->out.ump.fd));
    CHECK(!is_same_file(pair[1], a->in.ump.fd));
    CHECK(!is_same_file(pair[0], a->in.ump.fd));
    CHECK(!is_same_file(s[0], a->in.ump.fd));
    CHECK_EQ(fin_chan_close(a), 0);
    close_all((int[]){s[0], pair[0], pair[1], l.fds[0]}, 4);
}

static void it_offers(void) {
    int s[2];
    struct letter l;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
    CHECK_EQ(fin_chan_offer(&a, s[0], NULL), 0);
    address(&l);
    CHECK_EQ(recvmsg(s[1], &l.m, 0), sizeof l.greeting);
    memcpy(l.fds, CMSG_DATA(CMSG_FIRSTHDR(&l.m)), sizeof l.fds);
    CHECK(!is_same_file(l.fds[1], a->in.ump.fd));
    CHECK(!is_same_file(s[1], a->in.ump.fd));
    CHECK_EQ(fin_chan_close(a), 0);
    close_all((int[]){s[1], l.fds[0], l.fds[1]}, 3);
}

// Asleep, with a descriptor and without.
static void receives(void *chan) {
    for (unsigned i = 0; i < 2; i++) {
        char byte;
        int fd;
        unsigned n = 1;
        CHECK_EQ(fin_chan_recv_fds(chan, &byte, 1, &fd, &n), 1);
        CHECK_EQ(n, i);
        if (n)
            close(fd);
    }
}

static void send_both(struct fin_chan *to) {
    int fd = STDIN_FILENO;
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    CHECK_EQ(fin_chan_send(to, "", 1), 0);
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    CHECK_EQ(fin_chan_send_fds(to, "", 1, &fd, 1), 0);
}

static void connection_with_credentials(void) {
    int s[2], on = 1;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(setsockopt(s[i], SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
    CHECK_EQ(fin_chan_offer(&a, s[0], NULL), 0);
    CHECK_EQ(fin_chan_take(&b, s[1], 0), 0);
    fin_finish {
        fin_async_call(receives, a);
        send_both(b);
    }
    fin_finish {
        fin_async_call(receives, b);
        send_both(a);
    }
    close_both();
}

int main(void) {
    CHECK_EQ(fin_sleep(1), 0); // what the thread waits with is there
    int before = open_descriptors();
    offered_to_it();
    it_offers();
    connection_with_credentials();
    until_open_descriptors(before);
    return 0;
}

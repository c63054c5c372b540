// SPDX-License-Identifier: BSD-2-Clause
// Datagrams, over UDP and Unix sockets: addresses, the true length of what was cut off, empty ones, refusal; descriptors as
// ancillary data.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/uio.h>

#include "net.h"

static int udp(struct sockaddr_in *address) {
    socklen_t size = sizeof *address;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(fd >= 0);
    CHECK_EQ(bind(fd, (struct sockaddr *)address, sizeof *address), 0);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)address, &size), 0);
    return fd;
}

static int one, two;
static struct sockaddr_in one_address, two_address;

static void receive_from_one(void *unused) {
    (void)unused;
    char text[8];
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    CHECK_EQ(fin_recvfrom(two, text, sizeof text, 0, (struct sockaddr *)&from, &size), 5);
    CHECK(memcmp(text, "hello", 5) == 0);
    CHECK_EQ(size, sizeof from);
    CHECK_EQ(from.sin_port, one_address.sin_port);
}

static void over_udp(void) {
    static char text[8];
    fin_shared ssize_t n = 1;
    struct sockaddr *to = (struct sockaddr *)&two_address;
    one = udp(&one_address);
    two = udp(&two_address);
    CHECK_EQ(fin_recvfrom(two, text, sizeof text, MSG_DONTWAIT, NULL, NULL), -EAGAIN);
    fin_finish {
        fin_async_call(receive_from_one, NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_sendto(one, "hello", 5, 0, to, sizeof two_address), 5);
    }
    CHECK_EQ(fin_sendto(one, "0123456789", 10, 0, to, sizeof two_address), 10);
    CHECK_EQ(fin_recv(two, text, 4, MSG_TRUNC), 10);
    CHECK_EQ(fin_sendto_nc(one, "0123456789", 10, 0, to, sizeof two_address), 10);
    CHECK_EQ(fin_recvfrom_nc(two, text, 4, 0, NULL, NULL), 4);
    CHECK_EQ(fin_sendto(one, NULL, 0, 0, to, sizeof two_address), 0); // an empty one is one
    CHECK_EQ(fin_sendto(one, "x", 1, 0, to, sizeof two_address), 1);
    CHECK_EQ(fin_read(two, text, 0), 0); // takes none
    CHECK_EQ(fin_recvfrom(two, text, 4, 0, NULL, NULL), 0);
    CHECK_EQ(fin_recvfrom(two, text, 4, 0, NULL, NULL), 1);
    fin_finish {
        fin_async { n = fin_recvfrom(two, text, sizeof text, 0, NULL, NULL); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    CHECK_EQ(n, -ECANCELED);
    static char big[70000];
    CHECK_EQ(fin_sendto(one, big, sizeof big, 0, to, sizeof two_address), -EMSGSIZE);
    CHECK_EQ(fin_sendto(one, "x", 1, 0, NULL, 0), -EDESTADDRREQ);
    CHECK_EQ(fin_connect(one, to, sizeof two_address), 0);
    close(two);
    CHECK_EQ(fin_send(one, "x", 1, 0), 1);
    CHECK_EQ(fin_recv(one, text, 1, 0), -ECONNREFUSED);
    close(one);
}

union control {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

static void pass(int socket, int fd) {
    union control control = {0};
    struct iovec v = {"d", 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    CHECK_EQ(fin_sendmsg(socket, &m, 0), 1);
}

static int taken;
static void take(void *socket) {
    union control control = {0};
    char d;
    struct iovec v = {&d, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    CHECK_EQ(fin_recvmsg(*(int *)socket, &m, MSG_CMSG_CLOEXEC), 1);
    CHECK_EQ(d, 'd');
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    CHECK(c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof taken));
    memcpy(&taken, CMSG_DATA(c), sizeof taken);
    CHECK_EQ(fcntl(taken, F_GETFD), FD_CLOEXEC);
}

static void descriptors(int type) {
    static int fd[2], pipes[2];
    char byte = 0;
    CHECK_EQ(socketpair(AF_UNIX, type, 0, fd), 0);
    CHECK_EQ(pipe(pipes), 0);
    fin_finish {
        fin_async_call(take, &fd[0]);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        pass(fd[1], pipes[1]);
    }
    CHECK_EQ(fin_write(taken, "p", 1), 1);
    CHECK_EQ(fin_read(pipes[0], &byte, 1), 1);
    CHECK_EQ(byte, 'p');
    struct iovec v[2] = {{"ab", 2}, {"cde", 3}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
    char text[4];
    struct iovec short_room = {text, sizeof text};
    struct msghdr in = {.msg_iov = &short_room, .msg_iovlen = 1};
    CHECK_EQ(fin_sendmsg_nc(fd[1], &m, 0), 5);
    CHECK_EQ(fin_recvmsg_nc(fd[0], &in, 0), 4);
    CHECK(memcmp(text, "abcd", 4) == 0);
    CHECK_EQ(in.msg_flags & MSG_TRUNC, type == SOCK_STREAM ? 0 : MSG_TRUNC);
    close(taken);
    close(pipes[0]);
    close(pipes[1]);
    close(fd[0]);
    CHECK(fin_sendmsg(fd[1], &m, 0) == (type == SOCK_DGRAM ? -ECONNREFUSED : -EPIPE));
    close(fd[1]);
}

// A sender waits where the receiver's queue is full.
static void backlog(void) {
    static int fd[2];
    char text[16];
    fin_shared int sent = 0;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd), 0);
    fin_finish {
        fin_async {
            for (int i = 0; i < 2000; i++) {
                CHECK_EQ(fin_send(fd[1], "0123456789", 10, 0), 10);
                sent++;
            }
        };
        for (int i = 0; i < 2000; i++)
            CHECK_EQ(fin_recv(fd[0], text, sizeof text, 0), 10);
    }
    CHECK_EQ(sent, 2000);
    close(fd[0]);
    close(fd[1]);
}

// The same to one that each message names: each comes whole, and in its turn.
static void backlog_by_name(void) {
    enum { COUNT = 100 };
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    socklen_t size = sizeof to;
    int in = socket(AF_UNIX, SOCK_DGRAM, 0), out = socket(AF_UNIX, SOCK_DGRAM, 0);
    CHECK_EQ(bind(in, (struct sockaddr *)&to, sizeof to.sun_family), 0);
    CHECK_EQ(getsockname(in, (struct sockaddr *)&to, &size), 0);
    fin_finish {
        fin_async {
            for (int i = 0; i < COUNT; i++)
                CHECK_EQ(fin_sendto(out, &i, sizeof i, 0, (struct sockaddr *)&to, size), sizeof i);
        };
        for (int i = 0, got = -1; i < COUNT; i++) {
            if (i % 8 == 0)
                CHECK_EQ(fin_sleep(FIN_MS / 10), 0); // it is full meanwhile
            CHECK_EQ(fin_recv(in, &got, sizeof got, 0), sizeof got);
            CHECK_EQ(got, i);
        }
    }
    close(in);
    close(out);
}

// The same where the sender is connected, and the receiver to nobody.
static char half[] = "half", rest[] = "rest";
static int to_one, results[5];

static void sends(void *unused) {
    (void)unused;
    results[0] = (int)fin_send(to_one, half, 4, 0);
}

static void sends_all(void *unused) {
    (void)unused;
    results[1] = fin_send_all(to_one, rest, 4, 0, NULL);
}

static void has_sent(void *result, int n) {
    **(int **)result = n;
    fin_cont_end();
}

static void sends_on(void *unused, int n) {
    static struct fin_on on;
    int *result = &results[2];
    (void)unused;
    CHECK_EQ(n, 0);
    has_sent(&result, fin_send_on(&on, to_one, half, 4, 0, has_sent, &result, sizeof result));
}

static void sends_at_on(void *unused, int n) {
    static struct fin_on on;
    int *result = &results[3];
    (void)unused;
    CHECK_EQ(n, 0);
    has_sent(&result, fin_send_at_on(&on, fin_now() + FIN_US, to_one, rest, 4, 0, has_sent, &result, sizeof result));
}

static void cancelled(void *unused) {
    (void)unused;
    results[4] = (int)fin_send(to_one, half, 4, 0);
}

static void backlog_connected(void) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    socklen_t size = sizeof to;
    char text[16];
    int in = socket(AF_UNIX, SOCK_DGRAM, 0), full = 0, bytes = 0, count = 0;
    to_one = socket(AF_UNIX, SOCK_DGRAM, 0);
    CHECK_EQ(bind(in, (struct sockaddr *)&to, sizeof to.sun_family), 0);
    CHECK_EQ(getsockname(in, (struct sockaddr *)&to, &size), 0);
    CHECK_EQ(connect(to_one, (struct sockaddr *)&to, size), 0);
    while (send(to_one, "x", 1, MSG_DONTWAIT) == 1)
        full++;
    fin_finish {
        fin_async_call(cancelled, NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    CHECK_EQ(results[4], -ECANCELED);
    fin_finish {
        fin_async_call(sends, NULL);
        fin_async_call(sends_all, NULL);
        CHECK(fin_async_cont(sends_on, NULL, 0));
        CHECK(fin_async_cont(sends_at_on, NULL, 0));
        CHECK_EQ(fin_sleep(FIN_MS), 0); // they wait
        for (; count < full + 4; count++) {
            ssize_t n = fin_recv(in, text, sizeof text, 0);
            CHECK(n == (count < full ? 1 : 4));
            bytes += (int)n;
        }
    }
    CHECK_EQ(results[0], 4);
    CHECK_EQ(results[1], 0);
    CHECK_EQ(results[2], 4);
    CHECK_EQ(results[3], 4);
    CHECK_EQ(bytes, full + 16);
    close(in);
    close(to_one);
}

int main(void) {
    over_udp();
    descriptors(SOCK_STREAM);
    descriptors(SOCK_DGRAM);
    descriptors(SOCK_SEQPACKET);
    backlog();
    backlog_by_name();
    backlog_connected();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Messages received with continuations: who sent it, what came with it, in the order of those who wait. What is refused, or
// cancelled, has received nothing.
#define _GNU_SOURCE
#include <fcntl.h>

#include "net.h"

enum { WAITERS = 3, ROUNDS = 50 };

struct receiver {
    struct fin_more_on on;
    struct msghdr m;
    struct iovec v;
    struct sockaddr_in from;
    socklen_t from_size;
    char text[16];
    int fd, left, result;
    union {
        char room[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control;
};

static int ended, order[WAITERS * ROUNDS], received;

static void counts(struct receiver *r, int n) {
    r->result = n;
    if (n < 0 || --r->left == 0) {
        ended++;
        fin_cont_end();
    }
}

// ---- from somebody

static void from_came(void *state, int n) {
    struct receiver *r = *(struct receiver **)state;
    if (n >= 0) {
        CHECK_EQ(n, sizeof(int));
        CHECK_EQ(r->from_size, sizeof r->from);
        CHECK_EQ(r->from.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
        memcpy(&order[received++], r->text, sizeof(int));
        CHECK(r->from.sin_port != 0);
    }
    counts(r, n);
    r->from_size = sizeof r->from;
    fin_recvfrom_on(&r->on, r->fd, r->text, sizeof r->text, 0, (struct sockaddr *)&r->from, &r->from_size, from_came, &r,
                    sizeof r);
    CHECK(false);
}

static void from_begins(void *state, int unused) {
    struct receiver *r = *(struct receiver **)state;
    (void)unused;
    r->from_size = sizeof r->from;
    fin_recvfrom_on(&r->on, r->fd, r->text, sizeof r->text, 0, (struct sockaddr *)&r->from, &r->from_size, from_came, &r,
                    sizeof r);
    CHECK(false);
}

static void from_nobody_in_particular(void *state, int n) {
    struct receiver *r = *(struct receiver **)state;
    if (n != 0)
        counts(r, n);
    r->left = 1;
    fin_recvfrom_on(&r->on, r->fd, r->text, sizeof r->text, 0, NULL, NULL, from_nobody_in_particular, &r, sizeof r);
    CHECK(false);
}

static void from(void) {
    static struct receiver all[WAITERS];
    struct sockaddr_in address, mine = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int to = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), by = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof address;
    struct fin_stats s;
    CHECK_EQ(bind(to, (struct sockaddr *)&mine, sizeof mine), 0);
    CHECK_EQ(getsockname(to, (struct sockaddr *)&address, &size), 0);
    received = ended = 0;
    fin_finish {
        for (int i = 0; i < WAITERS; i++) {
            struct receiver *r = &all[i];
            *r = (struct receiver){.fd = to, .left = ROUNDS};
            CHECK(fin_async_cont(from_begins, &r, sizeof r) != NULL);
        }
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_stats(&s);
        CHECK_EQ(s.stacks_used, 1);
        for (int i = 0; i < WAITERS * ROUNDS; i++) {
            CHECK_EQ(sendto(by, &i, sizeof i, 0, (struct sockaddr *)&address, sizeof address), sizeof i);
            if (i % 7 == 0)
                fin_yield();
        }
    }
    CHECK_EQ(ended, WAITERS);
    CHECK_EQ(received, WAITERS * ROUNDS);
    unsigned char seen[WAITERS * ROUNDS] = {0};
    for (int i = 0; i < received; i++)
        CHECK(seen[order[i]]++ == 0);
    static struct receiver one, *r = &one;
    one.fd = to;
    CHECK_EQ(sendto(by, "abc", 3, 0, (struct sockaddr *)&address, sizeof address), 3);
    fin_finish {
        CHECK(fin_async_cont(from_nobody_in_particular, &r, sizeof r) != NULL);
    }
    CHECK_EQ(one.result, 3);
    fin_finish {
        for (int i = 0; i < WAITERS; i++) {
            struct receiver *w = &all[i];
            w->left = 1;
            CHECK(fin_async_cont(i ? from_begins : from_nobody_in_particular, &w, sizeof w) != NULL);
        }
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    for (int i = 0; i < WAITERS; i++)
        CHECK_EQ(all[i].result, -ECANCELED);
    close(to);
    close(by);
}

// ---- with descriptors

static void message_begins(void *state, int unused);

static void message_came(void *state, int n) {
    struct receiver *r = *(struct receiver **)state;
    if (n > 0) {
        int fds[2];
        struct cmsghdr *c = CMSG_FIRSTHDR(&r->m);
        CHECK_EQ(r->m.msg_flags & MSG_CTRUNC, 0);
        CHECK(c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof fds));
        memcpy(fds, CMSG_DATA(c), sizeof fds);
        CHECK(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
        close(fds[0]);
        close(fds[1]);
        received++;
    }
    if (n == 0) {
        CHECK_EQ(r->m.msg_controllen, 0);
        r->left = 1;
    }
    counts(r, n);
    message_begins(state, 0);
}

static void message_begins(void *state, int unused) {
    struct receiver *r = *(struct receiver **)state;
    (void)unused;
    r->v = (struct iovec){r->text, sizeof r->text};
    r->m = (struct msghdr){.msg_iov = &r->v, .msg_iovlen = 1};
    r->m.msg_control = r->control.room;
    r->m.msg_controllen = sizeof r->control.room;
    fin_recvmsg_on(&r->on, r->fd, &r->m, MSG_CMSG_CLOEXEC, message_came, &r, sizeof r);
    CHECK(false);
}

static void send_two(int fd) {
    struct receiver r = {.text = "x"};
    r.v = (struct iovec){r.text, 1};
    r.m = (struct msghdr){.msg_iov = &r.v, .msg_iovlen = 1};
    r.m.msg_control = r.control.room;
    r.m.msg_controllen = sizeof r.control.room;
    struct cmsghdr *c = CMSG_FIRSTHDR(&r.m);
    *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(c), (int[]){fd, fd}, 2 * sizeof(int));
    CHECK_EQ(sendmsg(fd, &r.m, 0), 1);
}

static void with_descriptors(void) {
    static struct receiver all[WAITERS];
    int pair[2], before = settled_descriptors();
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    received = ended = 0;
    fin_finish {
        for (int i = 0; i < WAITERS; i++) {
            struct receiver *r = &all[i];
            *r = (struct receiver){.fd = pair[0], .left = ROUNDS};
            CHECK(fin_async_cont(message_begins, &r, sizeof r) != NULL);
        }
        for (int i = 0; i < WAITERS * (ROUNDS - 1); i++) {
            send_two(pair[1]);
            if (i % 5 == 0)
                CHECK_EQ(fin_sleep(1), 0);
            while (i - received > 100)
                CHECK_EQ(fin_sleep(1), 0);
        }
        while (received < WAITERS * (ROUNDS - 1))
            CHECK_EQ(fin_sleep(1), 0);
        shutdown(pair[1], SHUT_WR); // the end has no control data
    }
    CHECK_EQ(ended, WAITERS);
    close(pair[0]);
    close(pair[1]);
    until_open_descriptors(before);
}

// ---- sent

static struct {
    struct fin_more_on on;
    struct sockaddr_in to;
    struct msghdr m;
    struct iovec v;
    int fd, flags, result;
} sender;

static void sent(void *state, int n) {
    (void)state;
    sender.result = n;
    fin_cont_end();
}

static void sends_to(void *state, int unused) {
    (void)state, (void)unused;
    fin_sendto_on(&sender.on, sender.fd, "abc", 3, sender.flags, (struct sockaddr *)&sender.to, sizeof sender.to, sent, NULL,
                  0);
    CHECK(false);
}

static void sends_message(void *state, int unused) {
    (void)state, (void)unused;
    fin_sendmsg_on(&sender.on, sender.fd, &sender.m, sender.flags, sent, NULL, 0);
    CHECK(false);
}

static int sends(void (*how)(void *, int), int fd, int flags) {
    sender.fd = fd;
    sender.flags = flags;
    sender.result = 1 << 30;
    fin_finish {
        CHECK(fin_async_cont(how, NULL, 0) != NULL);
    }
    return sender.result;
}

static void sending(void) {
    static char much[300000], got[sizeof much];
    char text[8];
    int pair[2], n, udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof sender.to;
    sender.to = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK_EQ(bind(udp, (struct sockaddr *)&sender.to, sizeof sender.to), 0);
    CHECK_EQ(getsockname(udp, (struct sockaddr *)&sender.to, &size), 0);
    CHECK_EQ(sends(sends_to, udp, 0), 3);
    CHECK_EQ(recv(udp, text, sizeof text, 0), 3);
    CHECK_EQ(sends(sends_to, -1, 0), -EBADF);
    close(udp);
    stream_pair(pair);
    const int there = pair[1]; // blocks capture no arrays
    number_bytes(much, sizeof much, 0);
    sender.v = (struct iovec){much, sizeof much};
    sender.m = (struct msghdr){.msg_iov = &sender.v, .msg_iovlen = 1};
    int first = sends(sends_message, pair[0], MSG_DONTWAIT);
    while (sends(sends_message, pair[0], MSG_DONTWAIT) > 0) {
    }
    CHECK_EQ(sender.result, -EAGAIN);
    CHECK(first > 0);
    fin_finish {
        fin_async {
            CHECK_EQ(fin_sleep(FIN_MS), 0); // it waits by now
            while (recv(there, got, sizeof got, MSG_DONTWAIT) > 0) {
            }
        };
        CHECK(sends(sends_message, pair[0], 0) > 0);
    }
    while ((n = (int)recv(pair[1], got, sizeof got, MSG_DONTWAIT)) > 0)
        check_numbers(got, (size_t)n, 0);
    close(pair[1]);
    CHECK_EQ(sends(sends_message, pair[0], 0), -EPIPE);
    close(pair[0]);
}

// ---- what is refused

static int refused;

static void never(void *state, int result) {
    (void)state, (void)result;
    CHECK(false);
}

static void told(void *state, int result) {
    (void)state;
    refused = result;
    fin_cont_end();
}

static void asks_too_much(void *state, int unused) {
    struct receiver *r = *(struct receiver **)state;
    char much[FIN_CONT_STATE + 1] = "";
    (void)unused;
    struct msghdr m = {.msg_control = r->control.room, .msg_controllen = sizeof r->control.room};
    CHECK_EQ(fin_recvmsg_on(&r->on, r->fd, &m, 0, never, much, sizeof much), -E2BIG);
    CHECK_EQ(fin_recvmsg_on(&r->on, r->fd, &m, 0, NULL, NULL, 0), -EINVAL);
    CHECK_EQ(fin_recvfrom_on(&r->on, r->fd, r->text, 1, 0, NULL, NULL, never, much, sizeof much), -E2BIG);
    CHECK_EQ(fin_sendmsg_on(&r->on, r->fd, &m, 0, never, much, sizeof much), -E2BIG);
    CHECK_EQ(fin_sendto_on(&r->on, r->fd, r->text, 1, 0, NULL, 0, NULL, NULL, 0), -EINVAL);
    fin_finish {
        CHECK_EQ(fin_recvmsg_on(&r->on, r->fd, &m, 0, never, NULL, 0), -EBUSY);
        CHECK_EQ(fin_sendmsg_on(&r->on, r->fd, &m, 0, never, NULL, 0), -EBUSY);
    }
    m.msg_controllen = (typeof(m.msg_controllen))-8;
    if (sizeof m.msg_controllen == sizeof(size_t)) // with musl it is no more than there may be
        CHECK_EQ(fin_recvmsg_on(&r->on, r->fd, &m, 0, never, NULL, 0), -ENOMEM);
    fin_recvfrom_on(&r->on, -1, r->text, 1, 0, (struct sockaddr *)&r->from, &r->from_size, told, NULL, 0);
    CHECK(false);
}

int main(void) {
    static struct receiver one = {.fd = -1}, *r = &one;
    CHECK_EQ(fin_recvmsg_on(&one.on, 0, &one.m, 0, never, NULL, 0), -EINVAL); // not an AWE that could
    CHECK_EQ(fin_recvfrom_on(&one.on, 0, one.text, 1, 0, NULL, NULL, never, NULL, 0), -EINVAL);
    from();
    sending();
    with_descriptors();
    fin_finish {
        CHECK(fin_async_cont(asks_too_much, &r, sizeof r) != NULL);
    }
    CHECK_EQ(refused, -EBADF);
    fin_finish {
        received = 0;
        one = (struct receiver){.fd = -1, .left = 1};
        CHECK(fin_async_cont(message_begins, &r, sizeof r) != NULL);
        fin_cancel();
    }
    CHECK_EQ(one.result, -ECANCELED); // before anything is looked at
    return 0;
}

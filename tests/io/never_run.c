// SPDX-License-Identifier: BSD-2-Clause
// Descriptors that were made for AWEs which never run, because their thread ended: nobody will close them, so the library
// does.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>

#include <fin/on.h>

#include "net.h"

enum { EACH = 20, YIELDS = 140 };

static int listener;
static struct sockaddr_in address;
static struct fin_acceptor *acceptor;
static int ran;

static void accept_one(void *unused) {
    (void)unused;
    int fd = fin_accept(listener, NULL, NULL);
    ran++;
    close(fd);
}

static void open_one(void *unused) {
    (void)unused;
    int fd = fin_open("/dev/null", O_RDWR | O_CLOEXEC, 0);
    ran++;
    close(fd);
}

static void take_one(void *unused) {
    (void)unused;
    int fd = fin_acceptor_next(acceptor);
    ran++;
    close(fd);
}

static int many[2];

static void receive_one(void *unused) {
    char text[8], room[CMSG_SPACE(2 * sizeof(int))];
    int fd[2];
    struct iovec v = {text, sizeof text};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    (void)unused;
    if (fin_recvmsg(many[1], &m, MSG_CMSG_CLOEXEC) < 0)
        return;
    memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    ran++;
    close(fd[0]);
    close(fd[1]);
}

static void send_two(void) {
    char text[8] = "", room[CMSG_SPACE(2 * sizeof(int))] = "";
    struct iovec v = {text, sizeof text};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(c), (int[]){1, 2}, 2 * sizeof(int));
    CHECK_EQ(sendmsg(many[0], &m, 0), sizeof text);
}

// The same with continuations.
static struct fin_on on[EACH];

static void took(void *unused, int fd) {
    (void)unused;
    ran++;
    close(fd);
    fin_cont_end();
}

static void accept_on(void *place, int result) {
    (void)result;
    fin_accept_on(*(struct fin_on **)place, listener, SOCK_CLOEXEC, took, NULL, 0);
}

static void open_on(void *place, int result) {
    (void)result;
    fin_openat_on(*(struct fin_on **)place, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0, took, NULL, 0);
}

static void take_on(void *place, int result) {
    (void)result;
    fin_acceptor_next_on(acceptor, *(struct fin_on **)place, took, NULL, 0);
}

// Events are looked at once in so many switches; what completed is then behind this AWE in the queue. At each number of
// switches between the first that might be too early and the last that might be too late, one thread ends.
struct end {
    void (*fn)(void *);
    fin_cont *cont; // or this
    int yields;
};

static void *end_early(void *arg) {
    struct end *e = arg;
    if (e->fn == take_one || e->cont == take_on)
        CHECK_EQ(fin_acceptor_open(&acceptor, listener, SOCK_CLOEXEC), 0);
    fin_finish {
        for (int i = 0; i < EACH; i++)
            if (e->fn) {
                fin_async_eager_call(e->fn, NULL);
            } else {
                struct fin_on *place = &on[i];
                fin_async_cont(e->cont, &place, sizeof place);
            }
        for (int i = 0; i < e->yields; i++)
            fin_yield();
        pthread_exit(NULL);
    }
    return NULL;
}

static void one(struct end e, int yields) {
    e.yields = yields;
    int client[EACH];
    pthread_t t;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, many), 0);
    for (int i = 0; i < EACH; i++) {
        client[i] = tcp_connect(&address);
        if (e.fn == receive_one)
            send_two();
    }
    CHECK_EQ(pthread_create(&t, NULL, end_early, &e), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    for (int i = 0; i < EACH; i++)
        close(client[i]);
    close(many[0]);
    close(many[1]);
    int fd;
    while ((fd = accept(listener, NULL, NULL)) >= 0)
        close(fd);
}

// What has not gone down when the thread ends is not done any more: its memory may be gone.
static int ends[2];

static void write_one(void *unused) {
    (void)unused;
    fin_write(ends[1], "x", 1);
    ran++;
}

static void *end_at_once(void *unused) {
    fin_finish {
        fin_async_eager_call(write_one, NULL);
        pthread_exit(NULL);
    }
    return unused;
}

static void unsent(void) {
    pthread_t t;
    char text[2];
    CHECK_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    CHECK_EQ(pthread_create(&t, NULL, end_at_once, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    CHECK_EQ(read(ends[0], text, sizeof text), on_epoll() ? 1 : -1); // which writes at once
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    const struct end all[] = {{.fn = accept_one},    {.fn = open_one},   {.fn = take_one}, {.fn = receive_one},
                              {.cont = accept_on}, {.cont = open_on}, {.cont = take_on}};
    int before = 0;
    listener = tcp_listen(&address, 2 * EACH);
    CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 7; i++) {
        one(all[i], 0);
        before = settled_descriptors();
        for (int yields = 1; yields < YIELDS; yields += getenv("FIN_FEW") ? 4 : 1)
            one(all[i], yields);
        until_open_descriptors(before);
    }
    unsent();
    return 0;
}

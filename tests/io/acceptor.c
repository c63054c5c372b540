// SPDX-License-Identifier: BSD-2-Clause
// An acceptor hands out each connection once: to AWEs that wait, in their order; to later calls what arrived meanwhile or
// while one was cancelled; and closes at its end what nobody took.
#include <fcntl.h>
#include <fin/stream.h>
#include <pthread.h>

#include "net.h"

enum { MANY = 600 };

static struct sockaddr_in address;
static int listener, clients[MANY], taken[MANY];

static void connect_many(int n) {
    for (int i = 0; i < n; i++)
        clients[i] = tcp_connect(&address);
}

static void close_many(int *fd, int n) {
    struct linger now = {.l_onoff = 1}; // reset, so that no port is kept waiting
    for (int i = 0; i < n; i++) {
        setsockopt(fd[i], SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(fd[i]);
    }
}

// Has the peer closed it?
static bool closed(int fd) {
    char c;
    ssize_t n = recv(fd, &c, 1, 0);
    return n <= 0;
}

static int open_acceptor(struct fin_acceptor **a) {
    listener = tcp_listen(&address, MANY);
    return fin_acceptor_open(a, listener, SOCK_CLOEXEC);
}

// Unix sockets with names: a TCP connection may get into the listener's queue after a later one.
static void in_order(void) {
    struct fin_acceptor *a;
    struct sockaddr_un to, client, peer;
    socklen_t to_size, size;
    listener = unix_listen(&to, &to_size, MANY);
    CHECK_EQ(fin_acceptor_open(&a, listener, SOCK_CLOEXEC), 0);
    for (int i = 0; i < MANY; i++) {
        struct sockaddr_un unnamed = {.sun_family = AF_UNIX}; // it gets a name
        clients[i] = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK_EQ(bind(clients[i], (struct sockaddr *)&unnamed, sizeof unnamed.sun_family), 0);
        CHECK_EQ(connect(clients[i], (struct sockaddr *)&to, to_size), 0);
    }
    for (int i = 0; i < MANY; i++) {
        taken[i] = fin_acceptor_next(a);
        CHECK(taken[i] >= 0);
        CHECK_EQ(fcntl(taken[i], F_GETFD), FD_CLOEXEC);
        size = sizeof client;
        CHECK_EQ(getsockname(clients[i], (struct sockaddr *)&client, &size), 0);
        socklen_t client_size = size;
        size = sizeof peer;
        CHECK_EQ(getpeername(taken[i], (struct sockaddr *)&peer, &size), 0);
        CHECK_EQ(size, client_size);
        CHECK(memcmp(&peer, &client, size) == 0);
    }
    CHECK_EQ(fin_acceptor_close(a), 0);
    close_many(taken, MANY);
    close_many(clients, MANY);
    close(listener);
}

static struct fin_acceptor *shared;
static int order, cancelled;

static void wait_for_one(void *arg) {
    int number = *(int *)arg, fd = fin_acceptor_next(shared);
    cancelled += fd == -ECANCELED;
    if (fd < 0)
        return;
    CHECK_EQ(number, order++);
    close(fd);
}

static void waiting(void) {
    static int numbers[4] = {0, 1, 2, 3};
    CHECK_EQ(open_acceptor(&shared), 0);
    CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0); // so that a ring of Linux 5.15 does not wait
    fin_finish {
        for (int i = 0; i < 4; i++)
            fin_async_call(wait_for_one, &numbers[i]);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        if (!on_epoll())
            CHECK_EQ(fin_acceptor_close(shared), -EBUSY);
        for (int i = 0; i < 2; i++) {
            clients[i] = tcp_connect(&address);
            while (order == i)
                CHECK_EQ(fin_sleep(FIN_MS), 0);
        }
        fin_cancel();
    }
    CHECK_EQ(order, 2);
    CHECK_EQ(cancelled, 2);
    // What comes now is there for later calls.
    clients[2] = tcp_connect(&address);
    clients[3] = tcp_connect(&address);
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    int fd = fin_acceptor_next(shared);
    CHECK(fd >= 0);
    close(fd);
    CHECK_EQ(fin_acceptor_stop(shared), 0);
    fd = fin_acceptor_next(shared);
    bool one_left = fd >= 0; // or in the backlog, where connections are accepted one by one
    if (one_left)
        close(fd);
    CHECK(one_left || fd == -ESHUTDOWN);
    CHECK_EQ(fin_acceptor_next(shared), -ESHUTDOWN);
    CHECK_EQ(fin_acceptor_close(shared), 0);
    fd = accept(listener, NULL, NULL);
    CHECK_EQ(fd >= 0, !one_left);
    close(fd);
    close_many(clients, 4);
    close(listener);
}

// Closed in the middle: those that were accepted and not taken see it, the others are in the backlog.
static void leaving(void) {
    struct fin_acceptor *a;
    CHECK_EQ(open_acceptor(&a), 0);
    connect_many(MANY);
    int fd = fin_acceptor_next(a), left = fin_acceptor_close(a), backlog = 0;
    CHECK(fd >= 0);
    CHECK(left >= 0);
    fcntl(listener, F_SETFL, O_NONBLOCK);
    for (; (taken[backlog] = accept(listener, NULL, NULL)) >= 0; backlog++) {
    }
    CHECK_EQ(1 + left + backlog, MANY);
    for (int i = 1; i <= left; i++)
        CHECK(closed(clients[i]));
    close(fd);
    close_many(taken, backlog);
    close_many(clients, MANY);
    close(listener);
}

static void *other_thread(void *a) {
    CHECK_EQ(fin_acceptor_next(a), -EXDEV);
    CHECK_EQ(fin_acceptor_close(a), -EXDEV);
    return NULL;
}

// It ends with an acceptor that has connections, and one that waits for them.
static void *ends(void *unused) {
    struct fin_acceptor *a, *idle;
    struct sockaddr_in other;
    int second = tcp_listen(&other, 1);
    CHECK_EQ(fin_acceptor_open(&a, listener, 0), 0);
    CHECK_EQ(fin_acceptor_open(&idle, second, 0), 0);
    fin_finish {
        fin_async { CHECK_EQ(fin_acceptor_next(idle), -ECANCELED); };
        connect_many(3);
        int fd = fin_acceptor_next(a);
        CHECK(fd >= 0);
        close(fd);
        fin_cancel();
    }
    close(second);
    return unused;
}

static void threads(void) {
    struct fin_acceptor *a;
    pthread_t t;
    CHECK_EQ(open_acceptor(&a), 0);
    CHECK_EQ(pthread_create(&t, NULL, other_thread, a), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    CHECK_EQ(fin_acceptor_close(a), 0);
    CHECK_EQ(pthread_create(&t, NULL, ends, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    close(listener);
    for (int i = 0; i < 3; i++)
        CHECK(closed(clients[i]));
    close_many(clients, 3);
}

static void bad(void) {
    struct fin_acceptor *a;
    int pipes[2];
    CHECK_EQ(pipe(pipes), 0);
    CHECK_EQ(fin_acceptor_open(&a, -1, 0), 0);
    CHECK_EQ(fin_acceptor_next(a), -EBADF);
    CHECK_EQ(fin_acceptor_next(a), -EBADF);
    CHECK_EQ(fin_acceptor_close(a), 0);
    CHECK_EQ(fin_acceptor_open(&a, pipes[0], 0), 0);
    fin_finish {
        CHECK_EQ(on_epoll() ? -ENOTSOCK : fin_acceptor_next(a), -ENOTSOCK);
        fin_cancel();
        CHECK_EQ(fin_acceptor_next(a), -ECANCELED);
    }
    CHECK_EQ(fin_acceptor_close(a), 0);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void) {
    in_order();
    waiting();
    leaving();
    threads();
    bad();
    return 0;
}

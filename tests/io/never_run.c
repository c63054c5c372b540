// SPDX-License-Identifier: BSD-2-Clause
// Descriptors that were made for AWEs which never run, because their thread ended: nobody will close them, so the library
// does.
#include <fcntl.h>
#include <pthread.h>

#include "net.h"

enum { EACH = 20, YIELDS = 70 };

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

// Events are looked at once in so many switches; what completed is then behind this AWE in the queue. At each number of
// switches between the first that might be too early and the last that might be too late, one thread ends.
struct end {
    void (*fn)(void *);
    int yields;
};

static void *end_early(void *arg) {
    struct end *e = arg;
    if (e->fn == take_one)
        CHECK_EQ(fin_acceptor_open(&acceptor, listener, SOCK_CLOEXEC), 0);
    fin_finish {
        for (int i = 0; i < EACH; i++)
            fin_async_eager_call(e->fn, NULL);
        for (int i = 0; i < e->yields; i++)
            fin_yield();
        pthread_exit(NULL);
    }
    return NULL;
}

static void one(void (*fn)(void *), int yields) {
    struct end e = {fn, yields};
    int client[EACH];
    pthread_t t;
    for (int i = 0; i < EACH; i++)
        client[i] = tcp_connect(&address);
    CHECK_EQ(pthread_create(&t, NULL, end_early, &e), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    for (int i = 0; i < EACH; i++)
        close(client[i]);
    int fd;
    while ((fd = accept(listener, NULL, NULL)) >= 0)
        close(fd);
}

int main(void) {
    void (*const all[])(void *) = {accept_one, open_one, take_one};
    int before = 0;
    listener = tcp_listen(&address, 2 * EACH);
    CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 3; i++) {
        if (all[i] == open_one && on_epoll()) // what the pool has opened is lost: see "What is not covered"
            continue;
        one(all[i], 0);
        before = open_descriptors();
        for (int yields = 1; yields < YIELDS; yields++)
            one(all[i], yields);
        CHECK_EQ(open_descriptors(), before);
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Descriptors that were made for AWEs which never run, because their thread ended: nobody will close them, so the library
// does.
#include <fcntl.h>
#include <pthread.h>

#include <fin/on.h>

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
    const struct end all[] = {{.fn = accept_one},    {.fn = open_one},   {.fn = take_one},
                              {.cont = accept_on}, {.cont = open_on}, {.cont = take_on}};
    int before = 0;
    listener = tcp_listen(&address, 2 * EACH);
    CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 6; i++) {
        one(all[i], 0);
        before = open_descriptors();
        for (int yields = 1; yields < YIELDS; yields++)
            one(all[i], yields);
        CHECK_EQ(open_descriptors(), before);
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// For scenarios in which AWEs wait for connections at one listener, and clients come by Fin. What an accept gave is the
// scenario's: took().
#ifndef FIN_TESTS_IO_ACCEPTS_H
#define FIN_TESTS_IO_ACCEPTS_H

#include <fin/on.h>
#include <fin/stream.h>
#include <fin/sync.h>

#include "net.h"

enum { CLIENTS = 3 };

static bool is_tcp;
static int listener, clients[CLIENTS];
static struct fin_event comes; // the moment of the cancel
static union {
    struct sockaddr any;
    struct sockaddr_un un;
    struct sockaddr_in in;
} address;
static socklen_t address_size;

static void took(int fd);

static void listen_here(void) {
    address_size = sizeof address.in;
    listener = is_tcp ? tcp_listen(&address.in, 10) : unix_listen(&address.un, &address_size, 10);
}

static inline void connects(void *client) {
    int *fd = client;
    *fd = socket(is_tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(fin_connect_nc(*fd, &address.any, address_size), 0);
}

static void accepts(void *unused) {
    (void)unused;
    took(fin_accept(listener, NULL, NULL));
}

static void ended(void *unused, int fd) {
    (void)unused;
    took(fd);
    fin_cont_end();
}

// Of an AWE without a stack, whose state is where its struct fin_on is.
static void begins(void *on, int r) {
    r = fin_accept_on(*(struct fin_on **)on, listener, 0, ended, NULL, 0);
    CHECK_EQ(r, 0);
}

// The cancel goes down with those that connect, before them.
static inline void is_cancelled(void *unused) {
    struct fin_on storage, *on = &storage;
    (void)unused;
    fin_finish {
        CHECK(fin_async_cont(begins, &on, sizeof on) != NULL);
        fin_event_await_nc(&comes, 1);
        fin_cancel();
        for (int i = 0; i < CLIENTS; i++)
            fin_async_call(connects, &clients[i]);
    }
}

static inline void close_clients(void) {
    for (int i = 0; i < CLIENTS; i++)
        close(clients[i]);
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// What races of streams and connections share. (race.h)
#ifndef FIN_TESTS_IO_RACE_STREAMS_H
#define FIN_TESTS_IO_RACE_STREAMS_H

#include <fcntl.h>
#include <poll.h>

#include "race.h"

enum { PIECE = 64 };

static int fd[4];
static unsigned sent, received; // bytes so far

static inline void check_received(const void *p, size_t n) {
    check_numbers(p, n, received);
    received += (unsigned)n;
}

// Streams: fd[1] -> fd[0]

static inline void open_stream(void) {
    stream_pair(fd);
    sent = received = 0;
}

static inline void open_pipe(void) {
    CHECK_EQ(pipe(fd), 0);
    sent = received = 0;
}

static inline void open_tcp(void) {
    struct sockaddr_in address;
    int listener = tcp_listen(&address, 1);
    fd[1] = tcp_connect(&address);
    fd[0] = accept(listener, NULL, NULL);
    close(listener);
    sent = received = 0;
}

static inline void close_two(void) {
    close(fd[0]);
    close(fd[1]);
}

static inline void write_some(void) {
    unsigned char p[16];
    size_t size = next_random(&seed) % (sizeof p + 1);
    number_bytes(p, size, sent);
    CHECK(size == 0 || write(fd[1], p, size) == (ssize_t)size);
    sent += (unsigned)size;
}

static inline void took(const void *p, ssize_t n) {
    if (outcome(n)) {
        CHECK(n > 0);
        check_received(p, (size_t)n);
    }
}

static inline void drain_from(int from) {
    unsigned char p[8192];
    while (poll(&(struct pollfd){.fd = from, .events = POLLIN}, 1, 0) == 1) {
        ssize_t n = read(from, p, sizeof p);
        CHECK(n > 0);
        check_received(p, (size_t)n);
    }
}

// From time to time: all that was sent is there.
static inline void check_rest(void) {
    if (next_random(&seed) % 8 == 0) {
        drain_from(fd[0]);
        CHECK_EQ(received, sent);
    }
}

// Sends, into a socket that is full often; the other side takes what there is.

static inline void open_full_stream(void) {
    int small = 4096;
    open_stream();
    setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
}

static inline void open_full_pipe(void) {
    open_pipe();
    fcntl(fd[1], F_SETPIPE_SZ, 4096);
}

static inline void take_some(void) {
    if (next_random(&seed) % 2)
        drain_from(fd[0]);
}

enum { MOST = 3000 };
static unsigned char out[MOST + 1];

static inline size_t some_data(void) {
    size_t n = next_random(&seed) % MOST + 1;
    number_bytes(out, n, sent);
    return n;
}

static inline void gave(ssize_t n) {
    if (outcome(n)) {
        CHECK(n > 0);
        sent += (unsigned)n;
    }
}

// Connections

static struct sockaddr_un name;
static socklen_t name_size;
static int listener, connections, accepted;

static inline void open_listener(void) {
    listener = unix_listen(&name, &name_size, 8);
    connections = accepted = 0;
}

static inline void connect_one(void) {
    if (next_random(&seed) % 2)
        return;
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CHECK(client >= 0);
    connections += connect(client, (struct sockaddr *)&name, name_size) == 0;
    close(client);
}

static inline void accepted_one(int n) {
    if (outcome(n)) {
        CHECK(n >= 0);
        accepted++;
        close(n);
    }
}

static inline void take_backlog(void) {
    while (poll(&(struct pollfd){.fd = listener, .events = POLLIN}, 1, 0) == 1) {
        int peer = accept(listener, NULL, NULL);
        CHECK(peer >= 0);
        close(peer);
        accepted++;
    }
}

static inline void check_accept(void) {
    take_backlog();
    CHECK_EQ(accepted, connections);
}

static inline void close_listener(void) { close(listener); }

// Received into a pool of buffers.
static struct fin_buffers *pool;
static struct fin_receiver *receiver;

static inline void open_pool(void) {
    open_stream();
    CHECK_EQ(fin_buffers_open(&pool, 2, PIECE), 0);
}

static inline void close_pool(void) {
    close_two();
    CHECK_EQ(fin_buffers_close(pool), 0);
}

static inline void open_receiver(void) {
    open_pool();
    CHECK_EQ(fin_receiver_open(&receiver, fd[0], pool), 0);
}

static inline void close_receiver(void) {
    CHECK(fin_receiver_close(receiver) >= 0);
    close_pool();
}

// Ends the receiver in the middle: what it had received and what is in the socket is all there is.
static inline void restart_receiver(void) {
    void *piece;
    ssize_t n;
    CHECK_EQ(fin_receiver_stop(receiver), 0);
    while ((n = fin_receiver_next(receiver, &piece)) > 0) {
        check_received(piece, (size_t)n);
        CHECK_EQ(fin_buffers_put(pool, piece), 0);
    }
    CHECK_EQ(n, -ESHUTDOWN);
    CHECK_EQ(fin_receiver_close(receiver), 0);
    drain_from(fd[0]);
    CHECK_EQ(received, sent);
    CHECK_EQ(fin_receiver_open(&receiver, fd[0], pool), 0);
}

#endif

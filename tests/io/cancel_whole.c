// SPDX-License-Identifier: BSD-2-Clause
// What comes whole or not at all, raced against cancellation: datagrams, connections, events, time, jobs. (race.h)
#define _GNU_SOURCE
#include <fin/offload.h>
#include <poll.h>

#include "race_streams.h"

// Datagrams: fd[1] -> fd[0]. Each comes whole, once, in its turn.

static struct sockaddr_un to;
static socklen_t to_size;

static void open_datagrams(void) {
    to = (struct sockaddr_un){.sun_family = AF_UNIX};
    to_size = sizeof to;
    for (int i = 0; i < 2; i++) {
        fd[i] = socket(AF_UNIX, SOCK_DGRAM, 0);
        CHECK(fd[i] >= 0);
    }
    CHECK_EQ(bind(fd[0], (struct sockaddr *)&to, sizeof to.sun_family), 0);
    CHECK_EQ(getsockname(fd[0], (struct sockaddr *)&to, &to_size), 0);
    sent = received = 0;
}

static void take_datagrams(void) {
    unsigned number;
    while (recv(fd[0], &number, sizeof number, MSG_DONTWAIT) == sizeof number)
        CHECK_EQ(number, received++);
    CHECK_EQ(received, sent);
}

static void send_datagram(void) {
    if (next_random(&seed) % 2)
        return;
    sent += sendto(fd[1], &sent, sizeof sent, MSG_DONTWAIT, (struct sockaddr *)&to, to_size) == sizeof sent;
}

static void do_recvfrom(void) {
    unsigned number;
    struct sockaddr_un from;
    socklen_t size = sizeof from;
    ssize_t n = fin_recvfrom(fd[0], &number, sizeof number, 0, (struct sockaddr *)&from, &size);
    if (outcome(n)) {
        CHECK_EQ(n, sizeof number);
        CHECK_EQ(number, received++);
    }
}

static void do_sendto(void) { // the queue is full at times
    ssize_t n = fin_sendto(fd[1], &sent, sizeof sent, 0, (struct sockaddr *)&to, to_size);
    if (outcome(n)) {
        CHECK_EQ(n, sizeof sent);
        sent++;
    }
}

static void take_datagrams_sometimes(void) {
    if (next_random(&seed) % 16 == 0)
        take_datagrams();
}

static void close_datagrams(void) {
    take_datagrams();
    close_two();
}

// Connections

static struct fin_acceptor *acceptor;

static void do_accept(void) { accepted_one(fin_accept(listener, NULL, NULL)); }
static void do_accept4(void) {
    struct sockaddr_un from;
    socklen_t size = sizeof from;
    accepted_one(fin_accept4(listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

static void do_acceptor(void) { accepted_one(fin_acceptor_next(acceptor)); }

static void open_acceptor(void) {
    open_listener();
    CHECK_EQ(fin_acceptor_open(&acceptor, listener, 0), 0);
}

static void check_acceptor(void) {
    int n;
    if (next_random(&seed) % 4)
        return;
    if (next_random(&seed) % 2) {
        CHECK_EQ(fin_acceptor_stop(acceptor), 0);
        while ((n = fin_acceptor_next(acceptor)) >= 0) {
            accepted++;
            close(n);
        }
        CHECK_EQ(n, -ESHUTDOWN);
    }
    n = fin_acceptor_close(acceptor);
    CHECK(n >= 0);
    accepted += n;
    check_accept();
    CHECK_EQ(fin_acceptor_open(&acceptor, listener, 0), 0);
}

static void close_acceptor(void) {
    CHECK(fin_acceptor_close(acceptor) >= 0);
    close_listener();
}

static void open_full_listener(void) {
    listener = unix_listen(&name, &name_size, 0);
    connections = accepted = 0;
}

static void take_one(void) {
    if (next_random(&seed) % 2)
        take_backlog();
}

static void do_connect(void) {
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(client >= 0);
    int r = fin_connect(client, (struct sockaddr *)&name, name_size);
    if (outcome(r)) {
        CHECK_EQ(r, 0);
        connections++;
    }
    close(client);
}

// Others

static void do_shutdown(void) {
    char c;
    stream_pair(fd);
    int n = fin_shutdown(fd[1], SHUT_WR);
    CHECK_EQ(recv(fd[0], &c, 1, MSG_DONTWAIT) == 0, outcome(n));
    CHECK(n == 0 || n == -ECANCELED);
    close_two();
}

static void do_poll(void) {
    int n = fin_poll(fd[0], POLLIN);
    if (outcome(n)) {
        CHECK_EQ(n, POLLIN);
        CHECK(received < sent);
    }
    if (next_random(&seed) % 2)
        drain_from(fd[0]);
}

static void do_sleep(void) {
    uint64_t ns = next_random(&seed) % 20000, start = fin_now();
    int n = fin_sleep(ns);
    CHECK(!outcome(n) || (n == 0 && fin_now() - start >= ns));
}

static void count_one(void *count) { __atomic_add_fetch((int *)count, 1, __ATOMIC_SEQ_CST); }

static void do_offload(void) {
    int count = 0, n = fin_offload(count_one, &count);
    CHECK_EQ(__atomic_load_n(&count, __ATOMIC_SEQ_CST), outcome(n));
}

static const struct race races[] = {
    {"recvfrom", open_datagrams, send_datagram, do_recvfrom, take_datagrams_sometimes, close_datagrams, 1},
    {"sendto", open_datagrams, take_datagrams_sometimes, do_sendto, nothing, close_datagrams, 1},
    {"accept", open_listener, connect_one, do_accept, check_accept, close_listener, 1},
    {"accept4", open_listener, connect_one, do_accept4, check_accept, close_listener, 1},
    {"acceptor", open_acceptor, connect_one, do_acceptor, check_acceptor, close_acceptor, 1},
    {"connect", open_full_listener, take_one, do_connect, nothing, close_listener, 1},
    {"poll", open_stream, write_some, do_poll, nothing, close_two, 1},
    {"shutdown", nothing, nothing, do_shutdown, nothing, nothing, 1},
    {"sleep", open_stream, nothing, do_sleep, nothing, close_two, 1},
    {"offload", open_stream, nothing, do_offload, nothing, close_two, 1},
};

int main(int argc, char **argv) {
    race_all(races, sizeof races / sizeof *races, argc > 1 ? argv[1] : NULL);
    return 0;
}

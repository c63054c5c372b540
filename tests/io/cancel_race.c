// SPDX-License-Identifier: BSD-2-Clause
// Cancellation against completion, many thousands of times: what a cancelled receive or send reported is what the peer saw,
// in bytes and their order; what a cancelled accept returned is what was connected. FIN_RACES=1000000 in the environment
// asks for so many races in all, and their counts.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>

#include "net.h"

enum { MOST = 6000, CHUNK = 3000, PHASES = 9 };

static int rounds;

static unsigned seed = 7;
static int fd[2];
static unsigned sent, received; // bytes so far
static int cancelled, done;

static void pause_a_little(unsigned most) {
    for (unsigned n = next_random(&seed) % most; n; n--)
        fin_yield();
}

static void check_received(const void *p, size_t n) {
    check_numbers(p, n, received);
    received += (unsigned)n;
}

static void count(ssize_t n) {
    if (n == -ECANCELED)
        cancelled++;
    else
        done++;
}

static void receive(void *use_read) {
    unsigned char p[64];
    ssize_t n = use_read ? fin_read(fd[0], p, sizeof p) : fin_recv(fd[0], p, sizeof p, 0);
    CHECK(n > 0 || n == -ECANCELED);
    if (n > 0)
        check_received(p, (size_t)n);
    count(n);
}

static void send_some(void *unused) {
    (void)unused;
    unsigned char p[16];
    size_t size = next_random(&seed) % sizeof p + 1;
    pause_a_little(8);
    number_bytes(p, size, sent);
    CHECK_EQ(write(fd[1], p, size), size);
    sent += (unsigned)size;
}

// Receive, send and cancel in one thread, in random order.
static void receiving(bool use_read) {
    for (int i = 0; i < rounds; i++) {
        fin_finish {
            fin_async_call(send_some, NULL);
            fin_finish {
                fin_async_call(receive, use_read ? &sent : NULL);
                pause_a_little(8);
                if (next_random(&seed) % 4 == 0)
                    CHECK_EQ(fin_sleep_nc(1), 0);
                fin_cancel();
            }
        }
    }
    while (received < sent)
        receive(use_read ? &sent : NULL);
    CHECK_EQ(received, sent);
}

// The bytes come from another thread.
static void *feed(void *total) {
    unsigned char p[16];
    for (unsigned i = 0; i < *(unsigned *)total; i += sizeof p) {
        number_bytes(p, sizeof p, i);
        CHECK_EQ(write(fd[1], p, sizeof p), sizeof p);
        if (i % 32 == 0)
            sched_yield();
    }
    return NULL;
}

static void receiving_from_thread(void) {
    unsigned total = (unsigned)rounds * 16;
    pthread_t t;
    received = 0;
    CHECK_EQ(pthread_create(&t, NULL, feed, &total), 0);
    while (received < total) {
        fin_finish {
            fin_async_call(receive, NULL);
            // Most go down before they are cancelled, and wait or not.
            if (next_random(&seed) % 8)
                CHECK_EQ(fin_sleep_nc(next_random(&seed) % 2), 0);
            fin_cancel();
        }
        if (on_valgrind())
            usleep(1); // it runs one thread at a time, and would seldom run the other one
    }
    pthread_join(t, NULL);
    CHECK_EQ(received, total);
}

// What is reported as sent is what goes on from there.
static void send_chunk(void *use_write) {
    unsigned char p[CHUNK];
    number_bytes(p, sizeof p, sent);
    ssize_t n = use_write ? fin_write(fd[1], p, sizeof p) : fin_send(fd[1], p, sizeof p, 0);
    CHECK(n > 0 || n == -ECANCELED);
    if (n > 0)
        sent += (unsigned)n;
    count(n);
}

static void *drain(void *unused) {
    unsigned char p[CHUNK * 3 / 2];
    ssize_t n;
    while ((n = read(fd[0], p, sizeof p)) > 0)
        check_received(p, (size_t)n);
    CHECK_EQ(n, 0);
    return unused;
}

static void sending(bool use_write) {
    pthread_t t;
    sent = received = 0;
    CHECK_EQ(pthread_create(&t, NULL, drain, NULL), 0);
    for (int i = 0; i < rounds; i++) {
        fin_finish {
            fin_async_call(send_chunk, use_write ? &sent : NULL);
            pause_a_little(6);
            if (next_random(&seed) % 4 == 0)
                CHECK_EQ(fin_sleep_nc(1), 0);
            fin_cancel();
        }
    }
    close(fd[1]);
    pthread_join(t, NULL);
    close(fd[0]);
    CHECK_EQ(received, sent);
}

static int accepted, connected, listener;
static struct sockaddr_in address;

static void accept_one(void *unused) {
    (void)unused;
    int peer = fin_accept(listener, NULL, NULL);
    CHECK(peer >= 0 || peer == -ECANCELED);
    if (peer >= 0) {
        accepted++;
        close(peer);
    }
    count(peer);
}

static void connect_one(void *unused) {
    (void)unused;
    int client = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(client >= 0);
    pause_a_little(6);
    int r = fin_connect(client, (struct sockaddr *)&address, sizeof address);
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    CHECK(r == 0 || r == -ECANCELED);
    connected += r == 0;
    // Reset, so that no port is kept waiting. The other side may have closed already.
    struct linger now = {.l_onoff = 1};
    setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    if (r != 0)
        CHECK_EQ(getpeername(client, (struct sockaddr *)&peer, &size), -1);
    close(client);
}

static void accepting(void) {
    listener = tcp_listen(&address, 64);
    for (int i = 0; i < rounds / 5; i++) {
        fin_finish {
            fin_async_call(connect_one, NULL);
            fin_async_call(accept_one, NULL);
            pause_a_little(8);
            if (next_random(&seed) % 4 == 0)
                CHECK_EQ(fin_sleep_nc(1), 0);
            fin_cancel();
        }
        // A client that nobody took is in the backlog still.
        while (accepted < connected)
            accept_one(NULL);
    }
    CHECK_EQ(accepted, connected);
    close(listener);
}

static struct sockaddr_un name;
static socklen_t name_size;

static void connect_unix(void *unused) {
    (void)unused;
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(client >= 0);
    int r = fin_connect(client, (struct sockaddr *)&name, name_size);
    CHECK(r == 0 || r == -ECANCELED);
    connected += r == 0;
    count(r);
    close(client);
}

static void take_one(void *unused) {
    (void)unused;
    pause_a_little(8);
    int peer = accept4(listener, NULL, NULL, 0);
    if (peer >= 0) {
        accepted++;
        close(peer);
    }
}

// A listener that is full most of the time, so that connects wait, in a kernel thread where it is io_uring.
static void connecting(void) {
    accepted = connected = 0;
    listener = unix_listen(&name, &name_size, 0);
    fcntl(listener, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < rounds / 5; i++) {
        fin_finish {
            if (next_random(&seed) % 2)
                fin_async_call(take_one, NULL);
            fin_async_call(connect_unix, NULL);
            pause_a_little(8);
            if (next_random(&seed) % 2)
                CHECK_EQ(fin_sleep_nc(1), 0);
            fin_cancel();
        }
    }
    while (accepted < connected) {
        int before = accepted;
        take_one(NULL);
        CHECK_EQ(accepted, before + 1);
    }
    CHECK_EQ(accept4(listener, NULL, NULL, 0), -1);
    close(listener);
}

static void sending_to_socket(bool use_write) {
    int small = 4096;
    stream_pair(fd);
    setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    sending(use_write);
}

static void sending_to_pipe(void) {
    CHECK_EQ(pipe(fd), 0);
    sending(true);
}

// How often either happens depends on the machine: the phase is repeated until both have.
#define RACE(phase)                                                                                                         \
    do {                                                                                                                    \
        for (int times = 0; times < 50 && (cancelled == 0 || done == 0); times++)                                           \
            phase;                                                                                                          \
        CHECK(cancelled > 0);                                                                                               \
        CHECK(done > 0);                                                                                                    \
        if (getenv("FIN_RACES"))                                                                                            \
            printf("%-25s %9d done %9d cancelled\n", #phase, done, cancelled);                                              \
        cancelled = done = 0;                                                                                               \
    } while (0)

int main(void) {
    rounds = getenv("FIN_RACES") ? atoi(getenv("FIN_RACES")) / PHASES + 1 : getenv("FIN_FEW") ? 300 : MOST;
    stream_pair(fd);
    RACE(receiving(false));
    RACE(receiving(true));
    RACE(receiving_from_thread());
    close(fd[0]);
    close(fd[1]);
    CHECK_EQ(pipe(fd), 0);
    sent = received = 0;
    RACE(receiving(true));
    close(fd[0]);
    close(fd[1]);
    RACE(sending_to_socket(false));
    RACE(sending_to_socket(true));
    RACE(sending_to_pipe());
    RACE(accepting());
    RACE(connecting());
    return 0;
}

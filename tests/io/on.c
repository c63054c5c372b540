// SPDX-License-Identifier: BSD-2-Clause
// I/O that AWEs wait for with continuations: results, cancellation, bytes, and no stack meanwhile.
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

enum { CONNECTIONS = 100, ROUNDS = 20 };

struct connection {
    struct fin_on on;
    int fd, peer;
    ssize_t received;
    long bytes;
    char buffer[64];
};
static struct connection connections[CONNECTIONS];

static void received(void *state, int n);

static void sent(void *state, int n) {
    struct connection *c = *(struct connection **)state;
    CHECK_EQ(n, c->received);
    CHECK_EQ(fin_recv_on(&c->on, c->fd, c->buffer, sizeof c->buffer, 0, received, &c, sizeof c), 0);
}

static void received(void *state, int n) {
    struct connection *c = *(struct connection **)state;
    if (n <= 0) {
        CHECK_EQ(n, 0); // the peer has closed it
        fin_cont_end();
    }
    c->received = n;
    c->bytes += n;
    CHECK_EQ(fin_send_on(&c->on, c->fd, c->buffer, (size_t)n, 0, sent, &c, sizeof c), 0);
}

static void serves(void *state, int result) {
    struct connection *c = *(struct connection **)state;
    CHECK_EQ(result, 0);
    fin_recv_on(&c->on, c->fd, c->buffer, sizeof c->buffer, 0, received, &c, sizeof c);
}

static void client(void *arg) {
    struct connection *c = arg;
    char out[50], in[50];
    for (int i = 0; i < ROUNDS; i++) {
        memset(out, i, sizeof out);
        CHECK_EQ(fin_send_all(c->peer, out, sizeof out, 0, NULL), 0);
        CHECK_EQ(fin_recv_all(c->peer, in, sizeof in, 0, NULL), 0);
        CHECK(memcmp(in, out, sizeof in) == 0);
    }
    close(c->peer);
}

static uint64_t stacks(void) {
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks_used;
}

static void echo(void) {
    fin_finish {
        for (int i = 0; i < CONNECTIONS; i++) {
            struct connection *c = &connections[i];
            int ends[2];
            CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
            *c = (struct connection){.fd = ends[0], .peer = ends[1]};
            CHECK(fin_async_cont(serves, &c, sizeof c) != NULL);
        }
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(stacks(), 1); // a hundred idle connections
        for (int i = 0; i < CONNECTIONS; i++)
            fin_async_call(client, &connections[i]);
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        CHECK_EQ(connections[i].bytes, ROUNDS * 50);
        close(connections[i].fd);
    }
}

static struct fin_on place[4];

static void says(void *state, int result) {
    LOG("%s%d ", *(const char **)state, result);
    fin_cont_end();
}

static void sleeps(void *state, int result) {
    const char *name = *(const char **)state;
    CHECK_EQ(result, 0);
    if (*name == 'l')
        fin_sleep_on(&place[0], 20 * FIN_MS, says, &name, sizeof name);
    if (*name == 's')
        fin_sleep_on(&place[1], FIN_MS, says, &name, sizeof name);
    fin_sleep_until_on(&place[2], UINT64_MAX, says, &name, sizeof name);
}

static void start(struct fin_finish_block *b, fin_cont *cont, const char *name) {
    CHECK(fin_cont_start_(b, cont, &name, sizeof name) != NULL);
}

static void until(const char *said) {
    while (!strstr(check_log, said))
        CHECK_EQ(fin_sleep(FIN_MS), 0);
}

static void time_passes(void) {
    fin_finish {
        start(FIN_CONT_BLOCK_, sleeps, "long");
        start(FIN_CONT_BLOCK_, sleeps, "short");
        start(FIN_CONT_BLOCK_, sleeps, "never");
        until("long0");
        fin_cancel();
    }
    CHECK_LOG("short0 long0 never-125 ");
}

// Nobody but the operation wakes an AWE that waits for one.
static struct fin_awe *busy;
static int ends[2];
static char byte;

static void receives(void *state, int result) {
    (void)result;
    busy = fin_awe_self();
    fin_recv_on(&place[0], ends[0], &byte, 1, 0, says, state, sizeof(const char *));
}

static void not_to_be_woken(void) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    fin_finish {
        start(FIN_CONT_BLOCK_, receives, "busy");
        fin_yield();
        CHECK_EQ(fin_schedule(busy), -EINVAL);
        CHECK_EQ(fin_yield_to(busy), -EINVAL);
        CHECK(write(ends[1], "x", 1) == 1);
    }
    CHECK_LOG("busy1 ");
}

static void polls(void *state, int result) {
    (void)result;
    fin_poll_on(&place[0], ends[0], POLLIN, says, state, sizeof(const char *));
}

static void accepts(void *state, int result) {
    (void)result;
    fin_accept_on(&place[1], *(int *)((char *)state + sizeof(void *)), SOCK_CLOEXEC, says, state, sizeof(const char *));
}

static void refused_by_the_kernel(void *state, int result) {
    (void)result;
    fin_read_on(&place[2], -1, &byte, 1, says, state, sizeof(const char *));
}

static char first;

static void read_it(void *state, int fd) {
    CHECK(fd > 0);
    fin_read_on(&place[3], fd, &first, 1, says, state, sizeof(const char *));
}

static void opens(void *state, int result) {
    (void)result;
    fin_openat_on(&place[3], AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0, read_it, state, sizeof(const char *));
}

static void others(void) {
    struct {
        const char *name;
        int fd;
    } listener = {"accept", socket(AF_UNIX, SOCK_STREAM, 0)};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    CHECK(bind(listener.fd, (struct sockaddr *)&address, sizeof address.sun_family) == 0 && listen(listener.fd, 5) == 0);
    fin_finish {
        start(FIN_CONT_BLOCK_, polls, "poll");
        CHECK(fin_async_cont(accepts, &listener, sizeof listener) != NULL);
        start(FIN_CONT_BLOCK_, refused_by_the_kernel, "read");
        start(FIN_CONT_BLOCK_, opens, "file");
        until("file1");
        until("read-9");
        CHECK(write(ends[1], "y", 1) == 1);
        until("poll1");
        fin_cancel();
    }
    CHECK(strstr(check_log, " poll1 accept-125 ") && first != 0);
    close(listener.fd);
    CHECK(read(ends[0], &byte, 1) == 1);
}

// Two wait for one socket: a byte is for one of them, and the other waits on.
static int outcomes[2];

static void one_of_two(void *state, int result) {
    outcomes[*(int *)state] = result;
    fin_cont_end();
}

static void receives_of_two(void *state, int result) {
    (void)result;
    int i = *(int *)state;
    outcomes[i] = 2;
    fin_recv_on(&place[i], ends[0], &byte, 1, 0, one_of_two, &i, sizeof i);
}

static void two_on_one(void) {
    fin_finish {
        for (int i = 0; i < 2; i++)
            CHECK(fin_async_cont(receives_of_two, &i, sizeof i) != NULL);
        fin_sleep(FIN_MS);
        CHECK(write(ends[1], "t", 1) == 1);
        while (outcomes[0] == 2 && outcomes[1] == 2)
            fin_sleep(FIN_MS);
        fin_sleep(FIN_MS);
        CHECK_EQ(outcomes[0] + outcomes[1], 1 + 2);
        fin_cancel();
    }
    CHECK_EQ(outcomes[0] + outcomes[1], 1 - ECANCELED);
}

// A byte that comes at the time of the cancel is received or stays.
static int outcome;

static void got(void *state, int result) {
    (void)state;
    outcome = result;
    fin_cont_end();
}

static void receives_one(void *state, int result) {
    (void)state;
    if (result == 0)
        fin_recv_on(&place[0], ends[0], &byte, 1, 0, got, NULL, 0);
    got(NULL, result);
}

static void against_cancel(void) {
    long cancelled = 0;
    for (int i = 0; i < 3000; i++) {
        fin_finish {
            CHECK(fin_async_cont(receives_one, NULL, 0) != NULL);
            if (i % 4)
                fin_yield();
            if (i % 3)
                fin_sleep(1);
            CHECK(write(ends[1], "z", 1) == 1);
            if (i % 5 == 0)
                fin_sleep(1); // the thread looks for events
            fin_cancel();
        }
        CHECK(outcome == 1 || outcome == -ECANCELED);
        cancelled += outcome != 1;
        char left[2];
        CHECK_EQ(recv(ends[0], left, sizeof left, MSG_DONTWAIT), outcome == 1 ? -1 : 1);
    }
    fprintf(stderr, "%ld of 3000 cancelled\n", cancelled);
    CHECK(cancelled > 0 && cancelled < 3000);
}

int main(void) {
    CHECK_EQ(fin_sleep_on(&place[0], 0, says, NULL, 0), -EINVAL); // not an AWE that could
    void (*all[])(void) = {echo, time_passes, not_to_be_woken, others, two_on_one, against_cancel};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check_log[0] = 0;
        all[i]();
    }
    close(ends[0]);
    close(ends[1]);
    return 0;
}

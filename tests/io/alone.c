// SPDX-License-Identifier: BSD-2-Clause
// A send that would go down alone is made without the ring, with the ring's results; one of several is not.
#include <fin/stats.h>

#include "net.h"

enum { SIZE = 32868, MANY = 300, TOGETHER = 10, EACH = 100 };

static char data[SIZE], got[SIZE];

static uint64_t entered(void) {
    struct fin_stats s;
    fin_stats(&s);
    return s.entered;
}

static void drain(void *arg) {
    const int *s = arg;
    size_t sum = 0;
    CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
    for (ssize_t n; (n = fin_recv(s[1], got, sizeof got, 0)) > 0; sum += (size_t)n)
        for (ssize_t i = 0; i < n; i++)
            CHECK_EQ(got[i], data[(sum + (size_t)i) % SIZE]);
    CHECK_EQ(sum, MANY * SIZE);
}

// More than the socket takes: it waits for room, and nothing is lost or sent twice.
static void sends(void) {
    static int s[2];
    stream_pair(s);
    fin_finish {
        fin_async_call(drain, s);
        for (int i = 0; i < MANY; i++)
            CHECK_EQ(fin_send_all(s[0], data, SIZE, 0, NULL), 0);
        CHECK_EQ(shutdown(s[0], SHUT_WR), 0);
    }
    CHECK_EQ(fin_send(s[0], data, 1, 0), -EPIPE); // and no signal
    close(s[1]);
    close(s[0]);
    CHECK_EQ(fin_send(s[0], data, 1, 0), -EBADF);
}

static void sends_without_the_ring(void) {
    int s[2];
    stream_pair(s);
    uint64_t before = entered();
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(fin_send(s[0], data, 100, 0), 100);
        CHECK_EQ(recv(s[1], got, 100, 0), 100);
    }
    CHECK(on_epoll() || entered() - before < MANY / 10);
    close(s[0]);
    close(s[1]);
}

// A cancel comes before it: nothing is sent.
static void cancelled(void) {
    static int s[2];
    stream_pair(s);
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_send(s[0], data, 1, 0), -ECANCELED);
        CHECK_EQ(fin_send_nc(s[0], data, 2, 0), 2);
    }
    CHECK_EQ(recv(s[1], got, 10, 0), 2);
    close(s[0]);
    close(s[1]);
}

static int pairs[TOGETHER][2];

static void send_one(void *pair) {
    for (int i = 0; i < EACH; i++)
        CHECK_EQ(fin_send(*(int *)pair, data, 10, 0), 10);
}

static void together(void) {
    for (int i = 0; i < TOGETHER; i++)
        stream_pair(pairs[i]);
    uint64_t before = entered();
    fin_finish {
        for (int i = 0; i < TOGETHER; i++)
            fin_async_call(send_one, pairs[i]);
    }
    CHECK(on_epoll() || entered() - before >= EACH);
    for (int i = 0; i < TOGETHER; i++) {
        CHECK_EQ(recv(pairs[i][1], got, sizeof got, 0), 10 * EACH);
        close(pairs[i][0]);
        close(pairs[i][1]);
    }
}

int main(void) {
    for (unsigned i = 0; i < SIZE; i++)
        data[i] = (char)(i * 7 + i / 4096);
    fin_finish {
        sends();
        sends_without_the_ring();
        cancelled();
        together();
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// fin_send_at_on sends what is there at its time, and not before, in one wait. A cancel during the sleep, or while the
// socket is full, means that nothing was sent; so does an error, which is the send's.
#include <fin/on.h>
#include <fin/stats.h>
#include <poll.h>

#include "net.h"

enum { TIMES = 20 };

static int fd[2];
static struct fin_on on;
static uint64_t due, number;
static int result;
static char many[4 << 20];

static void ended(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

static void sent(void *state, int n) {
    CHECK_EQ(n, sizeof number);
    CHECK(fin_now() >= due);
    if (++number == TIMES)
        fin_cont_end();
    due += FIN_MS;
    fin_send_at_on(&on, due, fd[0], &number, sizeof number, 0, sent, state, 0);
}

static void sends_numbers(void *unused) {
    due = fin_now() + FIN_MS;
    fin_send_at_on(&on, due, fd[0], &number, sizeof number, 0, sent, unused, 0);
}

static void sends_later(void *unused) {
    fin_send_at_on(&on, fin_now() + FIN_S * 3600, fd[0], "x", 1, 0, ended, unused, 0);
}

// Its time has come.
static void sends_many(void *unused) { fin_send_at_on(&on, 0, fd[0], many, sizeof many, 0, ended, unused, 0); }

static void cancelled(void (*fn)(void *), uint64_t after) {
    result = 1;
    fin_finish {
        fin_async_call(fn, NULL);
        if (after)
            CHECK_EQ(fin_sleep(after), 0);
        fin_cancel();
    }
}

static ssize_t received(void) {
    ssize_t all = 0, n;
    while ((n = fin_recv(fd[1], many, sizeof many, MSG_DONTWAIT)) > 0)
        all += n;
    return all;
}

int main(void) {
    struct fin_stats t;
    stream_pair(fd);
    fin_finish {
        fin_sleep(1);
        fin_stats_clear();
        fin_async_call(sends_numbers, NULL);
        for (uint64_t i = 0, n; i < TIMES; i++) {
            CHECK_EQ(fin_recv_all(fd[1], &n, sizeof n, 0, NULL), 0);
            CHECK_EQ(n, i);
        }
    }
    fin_stats(&t);
    CHECK_EQ(t.blocks[FIN_FOR_IO].with_continuation, TIMES);
    CHECK_EQ(t.blocks[FIN_FOR_IO].recognized, TIMES);
    CHECK_EQ(t.blocks[FIN_FOR_TIME].with_continuation, 0);
    cancelled(sends_later, 0);
    CHECK_EQ(result, -ECANCELED);
    cancelled(sends_later, FIN_MS);
    CHECK_EQ(result, -ECANCELED);
    CHECK_EQ(received(), 0);
    fin_finish {
        fin_async_call(sends_many, NULL);
        CHECK_EQ(fin_poll(fd[1], POLLIN), POLLIN); // it has begun
        fin_cancel();
    }
    CHECK(result > 0 && result < (int)sizeof many); // what fitted
    CHECK_EQ(received(), result);
    while (fin_send(fd[0], many, sizeof many, MSG_DONTWAIT) > 0) {
    }
    cancelled(sends_many, 5 * FIN_MS);
    CHECK_EQ(result, -ECANCELED);
    received();
    close(fd[1]);
    fin_finish {
        fin_async_call(sends_many, NULL);
    }
    CHECK_EQ(result, -EPIPE);
    close(fd[0]);
    fin_finish {
        fin_async_call(sends_many, NULL);
    }
    CHECK_EQ(result, -EBADF);
    return 0;
}

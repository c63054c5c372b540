// SPDX-License-Identifier: BSD-2-Clause
// A call has found that it must wait, and its AWE has not had its turn since, when fin_close closes its descriptor and
// another file gets the number, which never gets ready: the call ends, and does not wait for that file.
#include <fin/on.h>
#include <fin/stats.h>
#include <fin/stream.h>
#include <poll.h>
#include <pthread.h>

#include "net.h"

enum { SIZE = 64 };

static int from[2], next[2], result;
static char data[SIZE];
static struct fin_more_on more_on;
static struct fin_on on;
static struct iovec vector = {data, 1};
static struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
static struct fin_buffers *pool;
static struct fin_receiver *receiver;
static void *piece;

static void open_full(int fd[2]) {
    stream_pair(fd);
    while (send(fd[0], data, SIZE, MSG_DONTWAIT) > 0) {
    }
}

static void *close_it(void *unused) {
    CHECK_EQ(fin_close_nc(from[0]), 0);
    return unused;
}

// A ring's close takes turns, so another thread makes it; an epoll's is told to who waits in the thread that makes it. What
// waits for the file itself hears of the end of its peer.
static void replace(void) {
    pthread_t t;
    if (on_epoll()) {
        close_it(NULL);
    } else {
        CHECK_EQ(pthread_create(&t, NULL, close_it, NULL), 0);
        CHECK_EQ(pthread_join(t, NULL), 0);
    }
    open_full(next);
    CHECK_EQ(next[0], from[0]);
    close(from[1]);
}

static void ended(void *unused, int r) {
    (void)unused;
    result = r;
    fin_cont_end();
}

// In a ring until it has completed; without one until it has been tried.
static void take_turns(const struct fin_stats *before) {
    struct fin_stats now = *before;
    fin_yield();
    while (!on_epoll() && result == 0 && now.completions == before->completions) {
        fin_yield();
        fin_stats(&now);
    }
}

static void fails(void (*fn)(void *), fin_cont *cont, void (*meanwhile)(void)) {
    struct fin_stats before;
    result = 0;
    fin_stats(&before);
    fin_finish {
        if (fn)
            fin_async_call(fn, NULL);
        else
            CHECK(fin_async_cont(cont, NULL, 0) != NULL);
        if (meanwhile) {
            fin_yield();
            meanwhile();
        }
        take_turns(&before);
        replace();
    }
    CHECK_EQ(result, -EBADF);
    close(next[0]);
    close(next[1]);
}

static void sends_on(void *unused, int r) {
    (void)unused;
    r = fin_sendmsg_on(&more_on, from[0], &message, 0, ended, NULL, 0);
    CHECK_EQ(r, 0);
}

static void sends_to_on(void *unused, int r) {
    (void)unused;
    r = fin_sendto_on(&more_on, from[0], data, 1, 0, NULL, 0, ended, NULL, 0);
    CHECK_EQ(r, 0);
}

static void sends(void *unused) {
    (void)unused;
    result = (int)fin_sendmsg(from[0], &message, 0);
}

// Its peer has sent its last, of which a ring tells who waits for room.
static void polls(void *unused) {
    (void)unused;
    result = fin_poll(from[0], POLLOUT);
}

static void takes_next(void *unused, int r) {
    (void)unused;
    r = fin_receiver_next_on(receiver, &piece, &on, ended, NULL, 0);
    CHECK_EQ(r, 0);
}

static void data_comes(void) { CHECK_EQ(send(from[1], "x", 1, 0), 1); }

// What comes finds no buffer.
static void a_receive(void) {
    void *first;
    open_full(from);
    CHECK_EQ(fin_buffers_open(&pool, 1, SIZE), 0);
    CHECK_EQ(fin_receiver_open(&receiver, from[0], pool), 0);
    data_comes();
    CHECK_EQ(fin_receiver_next_nc(receiver, &first), 1);
    fails(NULL, takes_next, data_comes);
    CHECK_EQ(fin_receiver_close(receiver), 0);
    CHECK_EQ(fin_buffers_put(pool, first), 0);
    CHECK_EQ(fin_buffers_close(pool), 0);
}

int main(void) {
    for (int i = 0; i < 3; i++) {
        open_full(from);
        fails(NULL, sends_on, NULL);
        open_full(from);
        fails(NULL, sends_to_on, NULL);
        open_full(from);
        fails(sends, NULL, NULL);
        open_full(from);
        CHECK_EQ(shutdown(from[1], SHUT_WR), 0);
        fails(polls, NULL, NULL);
        a_receive();
    }
    return 0;
}

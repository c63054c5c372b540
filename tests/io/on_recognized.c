// SPDX-License-Identifier: BSD-2-Clause
// Accept loops and read loops without a stack: who finds that the request has ended does what the AWE would do
// (continuations 2.1: recognition), each time that it waited.
#include <fin/stream.h>

#include "net.h"

enum { TIMES = 20 };

static struct fin_on on;
static struct fin_acceptor *acceptor;
static int fd[2], count;
static char byte;

static struct fin_blocks waits(void) {
    struct fin_stats s;
    fin_stats(&s);
    return s.blocks[FIN_FOR_IO];
}

static void accepts(void *state, int got) {
    if (got == -ECANCELED)
        fin_cont_end();
    CHECK(got >= 0);
    close(got);
    count++;
    fin_acceptor_next_on(acceptor, &on, accepts, state, 0);
}

static void reads(void *state, int n) {
    if (n == -ECANCELED)
        fin_cont_end();
    CHECK_EQ(n, 1);
    count++;
    fin_read_on(&on, fd[0], &byte, 1, reads, state, 0);
}

static void receives(void *state, int n) {
    if (n == -ECANCELED)
        fin_cont_end();
    CHECK_EQ(n, 1);
    count++;
    fin_recv_on(&on, fd[0], &byte, 1, 0, receives, state, 0);
}

static void begin_accepting(void *state, int result) {
    CHECK_EQ(result, 0);
    fin_acceptor_next_on(acceptor, &on, accepts, state, 0);
}

static void begin_reading(void *state, int result) {
    CHECK_EQ(result, 0);
    fin_read_on(&on, fd[0], &byte, 1, reads, state, 0);
}

static void begin_receiving(void *state, int result) {
    CHECK_EQ(result, 0);
    fin_recv_on(&on, fd[0], &byte, 1, 0, receives, state, 0);
}

static void close_both(void) {
    close(fd[0]);
    close(fd[1]);
}

static void writes(void) { CHECK_EQ(write(fd[1], "x", 1), 1); }

static struct sockaddr_un address;
static socklen_t address_size;

static void connects(void) {
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(connect(s, (struct sockaddr *)&address, address_size), 0);
    close(s);
}

// It waits before each one comes.
static void loop(fin_cont *begin, void (*give)(void)) {
    count = 0;
    CHECK_EQ(fin_sleep(1), 0); // the thread has what it waits with
    fin_stats_clear();
    fin_finish {
        CHECK(fin_async_cont(begin, NULL, 0) != NULL);
        for (int i = 0; i < TIMES; i++) {
            while (count < i || waits().with_continuation < (unsigned)i + 1)
                CHECK_EQ(fin_sleep(FIN_MS / 10), 0);
            give();
        }
        while (count < TIMES)
            CHECK_EQ(fin_sleep(FIN_MS / 10), 0);
        fin_cancel();
    }
    CHECK_EQ(waits().with_continuation, TIMES + 1); // the last was cancelled
    CHECK_EQ(waits().recognized, TIMES);
}

// And where nothing is waited for, on whatever back end: one has asked the kernel before it stops, another when it has.
static void reads_all(void *state, int n) {
    CHECK_EQ(n, 1);
    if (++count == TIMES)
        fin_cont_end();
    fin_read_on(&on, fd[0], &byte, 1, reads_all, state, 0);
}
static void begin_all(void *state, int result) {
    CHECK_EQ(result, 0);
    fin_read_on(&on, fd[0], &byte, 1, reads_all, state, 0);
}
static void at_once(void) {
    count = 0;
    for (int i = 0; i < TIMES; i++)
        writes();
    fin_stats_clear();
    fin_finish {
        CHECK(fin_async_cont(begin_all, NULL, 0) != NULL);
    }
    CHECK_EQ(waits().with_continuation, TIMES);
    CHECK_EQ(waits().recognized, TIMES);
}

int main(void) {
    int listener = unix_listen(&address, &address_size, TIMES);
    CHECK_EQ(fin_acceptor_open(&acceptor, listener, SOCK_CLOEXEC), 0);
    loop(begin_accepting, connects);
    CHECK_EQ(fin_acceptor_close(acceptor), 0);
    close(listener);
    CHECK_EQ(pipe(fd), 0);
    loop(begin_reading, writes);
    at_once();
    close_both();
    stream_pair(fd);
    loop(begin_receiving, writes);
    close_both();
    return 0;
}

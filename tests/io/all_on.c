// SPDX-License-Identifier: BSD-2-Clause
// Transfers with a continuation that go on until all is done, without a stack: through what takes and gives a little at a
// time; what they report at the end of a stream, after an error, when cancelled or closed in the middle.
#include <fin/on.h>

#include "net.h"

enum { MUCH = 1000000 };

static char out[MUCH], in[MUCH];
static int fd[2];

static struct transfer {
    struct fin_more_on on;
    size_t size, done;
    int result;
} gives, takes;

static void ended(void *state, int r) {
    (*(struct transfer **)state)->result = r;
    fin_cont_end();
}

#define TRANSFER(name, call)                                                                                                \
    static void name(void *state, int unused) {                                                                             \
        struct transfer *t = *(struct transfer **)state;                                                                    \
        (void)unused;                                                                                                       \
        call;                                                                                                               \
        CHECK(false);                                                                                                       \
    }
#define REST &t->done, ended, &t, sizeof t

TRANSFER(writes, fin_write_all_on(&t->on, fd[1], out, t->size, REST))
TRANSFER(sends, fin_send_all_on(&t->on, fd[1], out, t->size, 0, REST))
TRANSFER(reads, fin_read_all_on(&t->on, fd[0], in, t->size, REST))
TRANSFER(receives, fin_recv_all_on(&t->on, fd[0], in, t->size, 0, REST))
TRANSFER(tells_nobody, fin_recv_all_on(&t->on, fd[0], in, t->size, 0, NULL, ended, &t, sizeof t))

static void begin(struct fin_finish_block *b, fin_cont *cont, struct transfer *t, size_t size) {
    t->size = size;
    t->done = 77;
    t->result = -EINPROGRESS;
    CHECK(fin_cont_start_(b, cont, &t, sizeof t) != NULL);
}

#define CHECK_SAID(t, r, n)                                                                                                 \
    do {                                                                                                                    \
        CHECK_EQ((t).result, r);                                                                                            \
        CHECK_EQ((t).done, n);                                                                                              \
    } while (0)

static void through(fin_cont *to, fin_cont *from) {
    memset(in, 0, sizeof in);
    fin_finish {
        begin(FIN_CONT_BLOCK_, to, &gives, MUCH);
        begin(FIN_CONT_BLOCK_, from, &takes, MUCH);
    }
    CHECK_SAID(gives, 0, MUCH);
    CHECK_SAID(takes, 0, MUCH);
    CHECK(memcmp(in, out, MUCH) == 0);
}

static void one(fin_cont *cont, struct transfer *t, size_t size) {
    fin_finish {
        begin(FIN_CONT_BLOCK_, cont, t, size);
    }
}

static void ends(void) {
    one(reads, &takes, 0);
    CHECK_SAID(takes, 0, 0);
    CHECK_EQ(write(fd[1], "abcd", 4), 4);
    one(tells_nobody, &takes, 1);
    CHECK_SAID(takes, 0, 77);
    close(fd[1]);
    one(reads, &takes, 5);
    CHECK_SAID(takes, -ENODATA, 3);
    one(receives, &takes, 5);
    CHECK_SAID(takes, -ENODATA, 0);
    close(fd[0]);
    fd[0] = -1;
    one(receives, &takes, 5);
    CHECK_SAID(takes, -EBADF, 0);
}

static void reset(void) {
    stream_pair(fd);
    CHECK_EQ(write(fd[0], "x", 1), 1);
    close(fd[0]);
    one(sends, &gives, 5);
    CHECK_SAID(gives, -EPIPE, 0);
    close(fd[1]);
}

static uint64_t stacks(void) {
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks_used;
}

// In the middle: what it said is what the other side sees.
static void cancelled(void) {
    stream_pair(fd);
    fin_finish {
        begin(FIN_CONT_BLOCK_, sends, &gives, MUCH);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(stacks(), 1);
        CHECK_EQ(gives.result, -EINPROGRESS);
        fin_cancel();
        begin(FIN_CONT_BLOCK_, receives, &takes, 1); // too late
    }
    CHECK_EQ(gives.result, -ECANCELED);
    CHECK(gives.done > 0 && gives.done < MUCH);
    CHECK_SAID(takes, -ECANCELED, 0);
    CHECK_EQ(shutdown(fd[1], SHUT_WR), 0);
    one(receives, &takes, MUCH);
    CHECK_SAID(takes, -ENODATA, gives.done);
    close(fd[0]);
    close(fd[1]);
}

// It does not go on with a number that may be another file's. Without io_uring the close ends the wait.
static void closed(void) {
    stream_pair(fd);
    fin_finish {
        begin(FIN_CONT_BLOCK_, receives, &takes, 5);
        CHECK_EQ(write(fd[1], "abc", 3), 3);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_close_nc(fd[0]), 0);
        CHECK(send(fd[1], "d", 1, MSG_NOSIGNAL) == 1 || on_epoll());
    }
    CHECK_SAID(takes, -EBADF, on_epoll() ? 3 : 4);
    close(fd[1]);
}

int main(void) {
    unsigned seed = 5;
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (char)next_random(&seed);
    stream_pair(fd);
    through(sends, receives);
    through(writes, reads);
    ends();
    reset();
    cancelled();
    closed();
    return 0;
}

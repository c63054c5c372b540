// SPDX-License-Identifier: BSD-2-Clause
// For everything.c: what all operations need, and what a thread has for itself.
#ifndef FIN_TESTS_IO_EVERYTHING_H
#define FIN_TESTS_IO_EVERYTHING_H

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include <fin/fixed.h>
#include <fin/linked.h>
#include <fin/process.h>
#include <fin/stream.h>
#include <fin/thread.h>

#include "attempts.h"

enum { PATTERN = 1 << 20, PIECE = 300 };

static unsigned char pattern[PATTERN];
static int pattern_file;

// Without a timer; now and then others run meanwhile, and the thread does not sleep.
static void await(struct fin_event *e, uint64_t count) {
    if (chance(5) == 0)
        while (fin_event_read(e) < count)
            fin_yield();
    fin_event_await_nc(e, count);
}

// ---- what a thread has for itself

static __thread struct own {
    int number;
    unsigned piece_count;
    struct fin_buffers *pool;
} own;

static void open_own(int number) {
    own.number = number;
    own_seed = seed * 977 + (unsigned)number * 7919;
    own.piece_count = 1 + chance(4);
    if (chance(8) == 0)
        HOLDS(fin_timer_slack(100 * FIN_US) == 0);
    HOLDS(fin_buffers_open(&own.pool, own.piece_count, PIECE) == 0);
}

// The end of the thread ends it.
static void leave_open(int fd) {
    struct fin_receiver *r;
    struct fin_memory *m;
    void *piece;
    HOLDS(fin_receiver_open(&r, fd, own.pool) == 0);
    HOLDS(fin_receiver_next_nc(r, &piece) > 0);
    HOLDS(fin_file_register(fd) >= 0);
    HOLDS(fin_memory_register(&m, pattern, 100) == 0);
}

// Each buffer is there, and no other.
static void close_own(void) {
    void *pieces[8], *piece;
    int fd[2];
    stream_pair(fd);
    unsigned char data[4 * PIECE] = {0};
    for (int i = 0; i < 3; i++)
        HOLDS(write(fd[1], data, sizeof data) == sizeof data);
    for (unsigned i = 0; i < own.piece_count; i++)
        HOLDS(fin_buffers_recv_nc(own.pool, fd[0], &pieces[i], MSG_DONTWAIT) == PIECE);
    HOLDS(fin_buffers_recv_nc(own.pool, fd[0], &piece, MSG_DONTWAIT) == -ENOBUFS);
    for (unsigned i = 0; i < own.piece_count; i++)
        for (unsigned k = 0; k < i; k++)
            HOLDS(pieces[i] != pieces[k]);
    for (unsigned i = 0; i < own.piece_count; i++)
        HOLDS(fin_buffers_put(own.pool, pieces[i]) == 0);
    if (own.number > 0 && chance(3) == 0)
        leave_open(fd[0]);
    else
        HOLDS(fin_buffers_close(own.pool) == 0);
    close(fd[0]);
    close(fd[1]);
}

// A piece is kept for a while, so that others lack it.
static void put_piece(struct act *a) {
    if (!a->piece)
        return;
    if (chance(3) == 0)
        fin_sleep_nc(chance(200) * FIN_US);
    else if (chance(2))
        fin_yield();
    HOLDS_OF(a, fin_buffers_put(own.pool, a->piece) == 0);
    a->piece = NULL;
}

#endif

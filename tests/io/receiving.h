// SPDX-License-Identifier: BSD-2-Clause
// A receiver at one end of a stream of numbered bytes.
#ifndef FIN_TESTS_IO_RECEIVING_H
#define FIN_TESTS_IO_RECEIVING_H

#include <fin/stream.h>

#include "net.h"

enum { SIZE = 100 };

static int fd[2];
static unsigned sent, received, seed = 3;
static struct fin_buffers *pool;
static struct fin_receiver *receiver;

static inline void begin(unsigned buffers) {
    stream_pair(fd);
    sent = received = 0;
    CHECK_EQ(fin_buffers_open(&pool, buffers, SIZE), 0);
    CHECK_EQ(fin_receiver_open(&receiver, fd[0], pool), 0);
}

// The receiver has been closed.
static inline void end(void) {
    close(fd[0]);
    close(fd[1]);
    CHECK_EQ(fin_buffers_close(pool), 0);
}

static inline void check_piece(const void *p, ssize_t n) {
    check_numbers(p, (size_t)n, received);
    received += (unsigned)n;
}

static inline void take_piece(void *piece, ssize_t n) {
    check_piece(piece, n);
    if (next_random(&seed) % 4 == 0)
        CHECK_EQ(fin_sleep_nc(1), 0);
    CHECK_EQ(fin_buffers_put(pool, piece), 0);
}

static inline void send_some(void) {
    unsigned char p[3 * SIZE];
    size_t size = next_random(&seed) % sizeof p + 1;
    number_bytes(p, size, sent);
    sent += (unsigned)size;
    CHECK_EQ(fin_send_nc(fd[1], p, size, 0), size);
}

#endif

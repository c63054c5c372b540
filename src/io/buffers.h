// SPDX-License-Identifier: BSD-2-Clause
// Buffers that are taken when data is there: by the kernel, from a ring of memory that it shares, or by us.
#ifndef FIN_IO_BUFFERS_H
#define FIN_IO_BUFFERS_H

#include <fin/on.h>
#include <fin/stream.h>

#include "io/io.h"

enum { NO_PIECE = UINT32_MAX };

struct piece {
    uint32_t next; // in the list of free ones, or in a receiver's
    uint32_t size; // that it holds
    bool given; // it is the program's
};

struct fin_buffers {
    struct owned owned;
    size_t size;
    unsigned count, used;    // used: not the kernel's and not free
    unsigned users;          // receivers, and AWEs in fin_buffers_recv
    struct fin_link lacking; // AWEs that have data to receive and no buffer to put it in
    char *memory;
    struct piece *pieces;
    uint32_t free;                  // without a ring
    struct io_uring_buf_ring *ring; // or NULL
    size_t ring_size;
    uint16_t mask, group;
};

// A completion used a buffer, or not: its index or NO_PIECE.
uint32_t fin_buffers_taken(struct fin_buffers *b, int result, uint32_t flags);
// Nothing was received, and who waits goes on by waiting for data: there was no buffer, or a wait with one was interrupted,
// or ended at the time that the socket has for it (SO_RCVTIMEO).
static inline bool fin_buffers_lacked(ssize_t result, uint32_t flags) {
    return result == -ENOBUFS || (flags & IORING_CQE_F_BUFFER && (result == -EINTR || result == -EAGAIN));
}
void fin_buffers_put_index(struct fin_buffers *b, uint32_t index);
static inline void *fin_buffers_at(struct fin_buffers *b, uint32_t index) { return b->memory + index * b->size; }
static inline void *fin_buffers_give(struct fin_buffers *b, uint32_t index) {
    b->pieces[index].given = true;
    return fin_buffers_at(b, index);
}

// on.c: which buffer the kernel has taken for a receive
uint32_t fin_on_flags(struct fin_on *on);

// What no data can come to says so, where a wait for data would not end: that it is no socket, or that it listens; -EBADF
// where the number was closed since, and may be another's. Or 0.
int fin_buffers_refused(int fd, uint64_t since);

// Receives after a lack of buffers was seen. Pre: it is not refused.
FIN_BLOCKING ssize_t fin_buffers_recv_late(struct fin_buffers *b, int fd, uint64_t since, void **piece, bool nc);

#endif

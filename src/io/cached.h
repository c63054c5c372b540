// SPDX-License-Identifier: BSD-2-Clause
// Reads of what the page cache has (cached.c).
#ifndef FIN_IO_CACHED_H
#define FIN_IO_CACHED_H

#include "core/dispatch.h"
#include "io/io.h"

// Has the thread nothing else to do, and its ring nothing to take down?
static inline bool fin_io_is_alone(const struct io *io) {
    const struct io_uring_sq *sq = &io->uring.ring.sq;
    return sq->sqe_tail == *sq->khead && fin_link_empty(&io->rt->queue) && !pending_of(io->rt->thread.current);
}

bool fin_io_is_cached(struct io *io, int fd); // do its reads and writes go to the page cache?
// Its length, or -EAGAIN: it is to be asked for. Pre: fin_io_is_alone().
int fin_io_read_cached(struct io *io, int fd, void *buffer, uint32_t size, uint64_t at, uint32_t flags);
static inline int fin_io_read_alone(struct io *io, int fd, void *buffer, uint32_t size, uint64_t at, uint32_t flags) {
    return fin_io_is_alone(io) ? fin_io_read_cached(io, fd, buffer, size, at, flags) : -EAGAIN;
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// The public functions that move data from one descriptor to another.
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "io/call.h"

// The kernel has the offsets in the entry and does not move them.
static FIN_BLOCKING ssize_t move(int in, off_t *in_at, int out, off_t *out_at, size_t size, unsigned flags, uint64_t since,
                                 bool nc) {
    struct call c = {.op = IORING_OP_SPLICE, .fd = out, .file_index = (uint32_t)in, .len = fin_io_most(size), .flags = flags,
                     .nc = nc, .since = since};
    c.addr = (void *)(uintptr_t)(in_at ? (uint64_t)*in_at : HERE);
    c.off = out_at ? (uint64_t)*out_at : HERE;
    if (size > 0 && ((in_at && *in_at < 0) || (out_at && *out_at < 0)))
        return -EINVAL;
    ssize_t n = run_again(c);
    if (n > 0 && in_at)
        *in_at += n;
    if (n > 0 && out_at)
        *out_at += n;
    return n;
}

TWICE(ssize_t, fin_splice, (int in, off_t *in_at, int out, off_t *out_at, size_t size, unsigned flags), move, in, in_at, out,
      out_at, size, flags, fin_closes_now())

// On the pool, where the system call itself has the offsets.
#define COPY                                                                                                                \
    .op = FIN_OP_COPY, .fd = out, .file_index = (uint32_t)in, .addr = in_at, .off = word(out_at), .len = fin_io_most(size), \
    .flags = flags
CALL(ssize_t, fin_copy_file_range, (int in, off_t *in_at, int out, off_t *out_at, size_t size, unsigned flags), COPY)

// What is in the pipe. *sent goes on from what it was; 0 or an error.
static FIN_BLOCKING ssize_t empty(int pipe, int out, size_t size, size_t *sent, uint64_t since, bool nc) {
    while (size > 0) {
        ssize_t n = move(pipe, NULL, out, NULL, size, 0, since, nc);
        if (n <= 0)
            return n;
        size -= (size_t)n;
        *sent += (size_t)n;
    }
    return 0;
}

struct pipe {
    struct io *io;
    int end[2];
    uint32_t place[2]; // the thread may end before it is closed
};

static int open_pipe(struct pipe *p) {
    int error = fin_io_here(&p->io);
    if (error)
        return error;
    if (pipe2(p->end, O_CLOEXEC) != 0)
        return -errno;
    for (int i = 0; i < 2; i++)
        p->place[i] = fin_io_hold(p->io, p->end[i]);
    return 0;
}

static void close_pipe(struct pipe *p) {
    for (int i = 0; i < 2; i++) {
        fin_io_take(p->io, p->place[i]);
        close(p->end[i]);
    }
}

static int usable(int fd, int not_for) {
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 ? -errno : flags & O_PATH || (flags & O_ACCMODE) == not_for ? -EBADF : 0;
}

// A transfer of nothing looks at what it would use all the same.
static int nothing_sent(int out, int in, bool nc) {
    int error = !nc && fin_cancelled() ? -ECANCELED : usable(in, O_WRONLY);
    return error ? error : usable(out, O_RDONLY);
}

// What is in the pipe when that ends early is in the file still: what counts is what went out.
static FIN_BLOCKING ssize_t send_file(int out, int in, off_t *offset, size_t size, bool nc) {
    off_t begin = offset ? *offset : lseek(in, 0, SEEK_CUR), at = begin;
    size_t sent = 0, most = fin_io_most(size);
    ssize_t r = 0;
    struct pipe p;
    if (begin < 0)
        return !offset && errno == EBADF ? -EBADF : -EINVAL; // not ESPIPE: as sendfile(2)
    if (most == 0 || (!nc && fin_cancelled()))
        return nothing_sent(out, in, nc);
    int error = open_pipe(&p);
    if (error)
        return error;
    const struct call file = {.fd = in, .since = fin_closes_now()}; // after what another thread closed to make room for it
    while (r == 0 && sent < most) {
        r = move(in, &at, p.end[1], NULL, most - sent, 0, file.since, nc);
        if (r == 0)
            break;
        if (r > 0)
            r = empty(p.end[0], out, (size_t)r, &sent, file.since, nc);
    }
    close_pipe(&p);
    if (offset)
        *offset = begin + (off_t)sent;
    // Its number may be another's; and where the child of a fork cancels what its parent does, the position is that one's.
    else if (sent > 0 && fin_io_is_here(p.io) && !fin_io_closed(&file))
        lseek(in, (off_t)sent, SEEK_CUR);
    return sent > 0 ? (ssize_t)sent : r < 0 ? r : nothing_sent(out, in, nc);
}

TWICE(ssize_t, fin_sendfile, (int out, int in, off_t *offset, size_t size), send_file, out, in, offset, size)

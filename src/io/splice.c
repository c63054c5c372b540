// SPDX-License-Identifier: BSD-2-Clause
// splice and tee. The kernel holds a pipe's lock while a splice waits for a socket. A ring's would wait so, on a thread of
// the kernel's, and whoever then reads from the pipe or writes to it stands still in the kernel, this thread too. So they
// are made without waiting, and what is not ready is waited for between two attempts.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>

#include "io/uring.h"

// One that is not ready is waited for, the source first: what is not ready for writing may take some all the same.
static FIN_BLOCKING int one_ready(const struct call *c, bool again) {
    int in = (int)c->file_index, r = fin_io_ready_now(in, POLLIN);
    if (r == 0)
        return fin_io_poll(in, POLLIN, c->nc);
    if (r > 0 && (r = fin_io_ready_now(c->fd, POLLOUT)) == 0)
        return fin_io_poll(c->fd, POLLOUT, c->nc);
    if (r > 0 && again) // somebody was faster
        r = fin_io_pause(c->nc);
    return r;
}

bool fin_io_splices_file(const struct call *c) {
    return c->op == IORING_OP_SPLICE &&
           (fin_io_kind_of((int)c->file_index) == FIN_IO_FILE || fin_io_kind_of(c->fd) == FIN_IO_FILE);
}

// Between a pipe and a file it is the file that may block.
int fin_io_splice(struct io *io, const struct call *c, bool file) {
    int interrupted = 0;
    for (bool again = false;; again = true) {
        int r = file ? fin_io_by_pool(io, c) : fin_io_try(c, FIN_IO_STREAM, again);
        if (fin_uring_interrupted(r) && ++interrupted < MOST_INTERRUPTED)
            continue;
        if (r != -EAGAIN || c->flags & SPLICE_F_NONBLOCK)
            return fin_uring_interrupted(r) ? -EINTR : r;
        r = one_ready(c, again);
        if (r < 0)
            return r;
        if (fin_io_closed(c))
            return -EBADF;
    }
}

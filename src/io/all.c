// SPDX-License-Identifier: BSD-2-Clause
// Transfers that go on until all is done.
#include "io/call.h"

// Of `c`, a read, write, receive or send, as often as it takes.
static inline __attribute__((always_inline)) FIN_BLOCKING int all(struct call c, size_t size, size_t *done, bool nc) {
    const char *p = c.addr;
    const int plain = c.fd >= FIXED ? fin_io_descriptor(c.fd) : c.fd; // whatever becomes of a registered number meanwhile
    size_t n = 0;
    int r = FIN_UNLIKELY(size == 0) && !nc && fin_cancelled() ? -ECANCELED : 0;
    c.nc = nc;
    c.since = fin_closes_now();
    while (n < size) {
        c.addr = p + n;
        c.len = fin_io_most(size - n);
        r = (int)run_again(c);
        if (r <= 0)
            break;
        n += (size_t)r;
        c.fd = plain;
    }
    if (done)
        *done = n;
    return r < 0 ? r : n == size ? 0 : -ENODATA;
}

// clang-format off
#define ALL(name, parameters, p, ...) TWICE(int, name, parameters, all, (struct call){__VA_ARGS__, .addr = p}, size, done)
ALL(fin_read_all, (int fd, void *buffer, size_t size, size_t *done), buffer,
    .op = IORING_OP_READ, .fd = fd, .off = UINT64_MAX)
ALL(fin_write_all, (int fd, const void *data, size_t size, size_t *done), data,
    .op = IORING_OP_WRITE, .fd = fd, .off = UINT64_MAX)
ALL(fin_recv_all, (int fd, void *buffer, size_t size, int flags, size_t *done), buffer,
    .op = IORING_OP_RECV, .fd = fd, .flags = (uint32_t)flags)
ALL(fin_send_all, (int fd, const void *data, size_t size, int flags, size_t *done), data,
    .op = IORING_OP_SEND, .fd = fd, .flags = (uint32_t)flags | MSG_NOSIGNAL)
// clang-format on

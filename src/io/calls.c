// SPDX-License-Identifier: BSD-2-Clause
// The public functions: each is a request of one back end or the other.
#define _GNU_SOURCE
#include <fcntl.h>

#include "io/io.h"

static int run(const struct call *c) {
    struct io *io;
    int error = fin_io_here(&io);
    return error ? error : io->backend->run(io, c);
}

static uint64_t word(const void *p) { return (uint64_t)(uintptr_t)p; }

// In the kernel's interface the offset -1 means the file's position.
#define CALL_IF(bad, type, name, parameters, ...)                                                                           \
    type name parameters { return (bad) ? -EINVAL : run(&(struct call){__VA_ARGS__}); }                                     \
    type name##_nc parameters { return (bad) ? -EINVAL : run(&(struct call){__VA_ARGS__, .nc = true}); }
#define CALL(type, name, parameters, ...) CALL_IF(false, type, name, parameters, __VA_ARGS__)

// clang-format off
CALL(ssize_t, fin_read, (int fd, void *buffer, size_t size),
     .op = IORING_OP_READ, .fd = fd, .addr = buffer, .len = fin_io_most(size), .off = UINT64_MAX)
CALL(ssize_t, fin_write, (int fd, const void *data, size_t size),
     .op = IORING_OP_WRITE, .fd = fd, .addr = data, .len = fin_io_most(size), .off = UINT64_MAX)
CALL_IF(offset < 0, ssize_t, fin_pread, (int fd, void *buffer, size_t size, off_t offset),
        .op = IORING_OP_READ, .fd = fd, .addr = buffer, .len = fin_io_most(size), .off = (uint64_t)offset)
CALL_IF(offset < 0, ssize_t, fin_pwrite, (int fd, const void *data, size_t size, off_t offset),
        .op = IORING_OP_WRITE, .fd = fd, .addr = data, .len = fin_io_most(size), .off = (uint64_t)offset)
CALL(int, fin_close, (int fd), .op = IORING_OP_CLOSE, .fd = fd)
CALL(int, fin_accept, (int fd, struct sockaddr *address, socklen_t *size),
     .op = IORING_OP_ACCEPT, .fd = fd, .addr = address, .off = word(size))
CALL(int, fin_accept4, (int fd, struct sockaddr *address, socklen_t *size, int flags),
     .op = IORING_OP_ACCEPT, .fd = fd, .addr = address, .off = word(size), .flags = (uint32_t)flags)
CALL(ssize_t, fin_send, (int fd, const void *data, size_t size, int flags),
     .op = IORING_OP_SEND, .fd = fd, .addr = data, .len = fin_io_most(size), .flags = (uint32_t)flags | MSG_NOSIGNAL)
CALL(ssize_t, fin_recv, (int fd, void *buffer, size_t size, int flags),
     .op = IORING_OP_RECV, .fd = fd, .addr = buffer, .len = fin_io_most(size), .flags = (uint32_t)flags)
CALL(int, fin_poll, (int fd, int events), .op = IORING_OP_POLL_ADD, .fd = fd, .flags = (uint16_t)events)
CALL(int, fin_fsync, (int fd), .op = IORING_OP_FSYNC, .fd = fd)
CALL(int, fin_statx, (int dir, const char *path, int flags, unsigned mask, struct statx *out),
     .op = IORING_OP_STATX, .fd = dir, .addr = path, .len = mask, .off = word(out), .flags = (uint32_t)flags)
// clang-format on

// A Unix socket in non-blocking mode is told so when its peer has too many to accept; nothing tells when that changes.
static int connect_to(const struct call *c) {
    int r;
    while ((r = run(c)) == -EAGAIN && ((const struct sockaddr *)c->addr)->sa_family == AF_UNIX) {
        r = c->nc ? fin_sleep_nc(FIN_MS) : fin_sleep(FIN_MS);
        if (r != 0)
            break;
    }
    return r;
}

int fin_connect(int fd, const struct sockaddr *address, socklen_t size) {
    return connect_to(&(struct call){.op = IORING_OP_CONNECT, .fd = fd, .addr = address, .off = size});
}

int fin_connect_nc(int fd, const struct sockaddr *address, socklen_t size) {
    return connect_to(&(struct call){.op = IORING_OP_CONNECT, .fd = fd, .addr = address, .off = size, .nc = true});
}

// io_uring opens a FIFO at times with O_NONBLOCK and at times without. Here it is always with; the file itself is then in the
// mode that was asked for.
static int open_at(struct call c) {
    uint32_t flags = c.flags;
    c.flags |= O_NONBLOCK;
    int fd = run(&c);
    if (fd == -EAGAIN) { // somebody has a lease on the file
        c.flags = flags;
        return run(&c);
    }
    if (fd >= 0 && !(flags & (O_NONBLOCK | O_PATH)))
        fcntl(fd, F_SETFL, flags);
    return fd;
}

int fin_openat(int dir, const char *path, int flags, mode_t mode) {
    return open_at((struct call){.op = IORING_OP_OPENAT, .fd = dir, .addr = path, .len = mode, .flags = (uint32_t)flags});
}

int fin_openat_nc(int dir, const char *path, int flags, mode_t mode) {
    return open_at(
        (struct call){.op = IORING_OP_OPENAT, .fd = dir, .addr = path, .len = mode, .flags = (uint32_t)flags, .nc = true});
}

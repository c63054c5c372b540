// SPDX-License-Identifier: BSD-2-Clause
// Calls of files as what they are, system calls that block: for the threads of the pool.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "io/io.h"
#include "io/libc.h"

static long with_flags(bool in, int fd, const struct iovec *v, int n, off_t at, int flags) {
    return in ? preadv2(fd, v, n, at, flags) : pwritev2(fd, v, n, at, flags);
}

static long without_flags(bool in, int fd, const struct iovec *v, int n, off_t at) {
    if (at == -1)
        return in ? readv(fd, v, n) : writev(fd, v, n);
    return in ? preadv(fd, v, n, at) : pwritev(fd, v, n, at);
}

// A filter may be older than the calls that have flags.
static long vectors(bool in, int fd, const struct iovec *v, int n, off_t at, int flags) {
    long r = with_flags(in, fd, v, n, at, flags);
    return r < 0 && flags == 0 && fin_host_denied(-errno) ? without_flags(in, fd, v, n, at) : r;
}

int fin_io_vectors(bool in, int fd, const struct iovec *v, int n, off_t at, int flags) {
    return fin_io_result(vectors(in, fd, v, n, at, flags));
}

static long transfer(const struct call *c) {
    void *p = (void *)c->addr;
    off_t at = (off_t)c->off; // -1: the file's position
    int n = (int)c->len, flags = (int)c->flags;
    switch (c->op) {
    case IORING_OP_READ:
        if (c->len == 0) // read(2) of nothing waits where it is for an event of an inotify
            return vectors(true, c->fd, NULL, 0, at, 0);
        return at == -1 ? read(c->fd, p, c->len) : pread(c->fd, p, c->len, at);
    case IORING_OP_WRITE:
        if (c->len == 0) // write(2) of nothing is an error where it is to an eventfd; this is 0, as a ring says
            return vectors(false, c->fd, NULL, 0, at, 0);
        return at == -1 ? write(c->fd, p, c->len) : pwrite(c->fd, p, c->len, at);
    case IORING_OP_READV:
    case IORING_OP_WRITEV:
        return vectors(c->op == IORING_OP_READV, c->fd, p, n, at, flags);
    case FIN_OP_GETDENTS:
        return getdents64(c->fd, p, c->len);
    default:
        errno = ENOSYS;
        return -1;
    }
}

// A pipe does not block here: its end is waited for before. A file does.
static long between(const struct call *c) {
    loff_t from = (loff_t)(uintptr_t)c->addr, to = (loff_t)c->off;
    loff_t *at = from == -1 ? NULL : &from, *to_at = to == -1 ? NULL : &to;
    unsigned flags = c->flags | SPLICE_F_NONBLOCK;
    int in = (int)c->file_index;
    if (c->op == IORING_OP_TEE)
        return tee(in, c->fd, c->len, flags);
    if (c->op == FIN_OP_COPY)
        return copy_file_range(in, (off_t *)c->addr, c->fd, (off_t *)(uintptr_t)c->off, c->len, c->flags);
    return splice(in, at, c->fd, to_at, c->len, flags);
}

static long of_attribute(const struct call *c) {
    const char *name = c->addr, *path = (const char *)(uintptr_t)c->addr3;
    void *value = (void *)(uintptr_t)c->off;
    int flags = (int)c->flags;
    switch (c->op) {
    case IORING_OP_GETXATTR:
        return getxattr(path, name, value, c->len);
    case FIN_OP_LGETXATTR:
        return lgetxattr(path, name, value, c->len);
    case IORING_OP_FGETXATTR:
        return fgetxattr(c->fd, name, value, c->len);
    case IORING_OP_SETXATTR:
        return setxattr(path, name, value, c->len, flags);
    case FIN_OP_LSETXATTR:
        return lsetxattr(path, name, value, c->len, flags);
    case IORING_OP_FSETXATTR:
        return fsetxattr(c->fd, name, value, c->len, flags);
    case FIN_OP_LISTXATTR:
        return listxattr(path, value, c->len);
    case FIN_OP_LLISTXATTR:
        return llistxattr(path, value, c->len);
    case FIN_OP_FLISTXATTR:
        return flistxattr(c->fd, value, c->len);
    case FIN_OP_REMOVEXATTR:
        return removexattr(path, name);
    case FIN_OP_LREMOVEXATTR:
        return lremovexattr(path, name);
    case FIN_OP_FREMOVEXATTR:
        return fremovexattr(c->fd, name);
    default:
        return transfer(c);
    }
}

static long of_inode(const struct call *c) {
    const char *path = c->addr;
    void *second = (void *)(uintptr_t)c->off;
    int flags = (int)c->flags;
    switch (c->op) {
    case FIN_OP_FCHMODAT:
        return fchmodat(c->fd, path, (mode_t)c->len, flags);
    case FIN_OP_FCHOWNAT:
        return fchownat(c->fd, path, (uid_t)c->len, (gid_t)c->off, flags);
    case FIN_OP_UTIMENSAT:
        return utimensat(c->fd, path, second, flags);
    case FIN_OP_FACCESSAT:
        return faccessat(c->fd, path, (int)c->len, flags);
    case FIN_OP_MKNODAT:
        return mknodat(c->fd, path, (mode_t)c->len, (dev_t)c->off);
    case FIN_OP_STATFS:
        return statfs(path, second);
    case FIN_OP_FSTATFS:
        return fstatfs(c->fd, second);
    default:
        return of_attribute(c);
    }
}

static long of_name(const struct call *c) {
    const char *path = c->addr;
    void *second = (void *)(uintptr_t)c->off;
    int flags = (int)c->flags;
    switch (c->op) {
    case IORING_OP_OPENAT:
        return openat(c->fd, path, flags, (mode_t)c->len);
    case IORING_OP_OPENAT2:
        return syscall(SYS_openat2, c->fd, path, second, (size_t)c->len);
    case IORING_OP_STATX:
        return statx(c->fd, path, flags, c->len, second);
    case IORING_OP_RENAMEAT:
        return renameat2(c->fd, path, (int)c->len, second, c->flags);
    case IORING_OP_UNLINKAT:
        return unlinkat(c->fd, path, flags);
    case IORING_OP_MKDIRAT:
        return mkdirat(c->fd, path, (mode_t)c->len);
    case IORING_OP_SYMLINKAT:
        return symlinkat(path, c->fd, second);
    case IORING_OP_LINKAT:
        return linkat(c->fd, path, (int)c->len, second, flags);
    case FIN_OP_READLINKAT:
        return readlinkat(c->fd, path, second, c->len);
    default:
        return of_inode(c);
    }
}

// A length that does not fit into `len` is in `addr`, which a ring wants to be zero.
static off_t length(const struct call *c) { return c->addr ? (off_t)(uintptr_t)c->addr : (off_t)c->len; }

static long of_descriptor(const struct call *c) {
    off_t at = (off_t)c->off;
    switch (c->op & ~FIN_OP_POOL) {
    case IORING_OP_FSYNC:
        return c->flags & IORING_FSYNC_DATASYNC ? fdatasync(c->fd) : fsync(c->fd);
    case IORING_OP_SYNC_FILE_RANGE:
        return sync_file_range(c->fd, at, length(c), c->flags);
    case IORING_OP_FALLOCATE:
        return fallocate(c->fd, (int)c->len, at, (off_t)(uintptr_t)c->addr);
    case IORING_OP_FADVISE:
        errno = posix_fadvise(c->fd, at, length(c), (int)c->flags);
        return errno ? -1 : 0;
    case IORING_OP_MADVISE:
        return madvise((void *)c->addr, c->off ? c->off : c->len, (int)c->flags);
    case FIN_OP_MSYNC & ~FIN_OP_POOL:
        return msync((void *)c->addr, c->off, (int)c->flags);
    case FIN_OP_SYNCFS & ~FIN_OP_POOL:
        return syncfs(c->fd);
    case FIN_OP_FTRUNCATE:
        return ftruncate(c->fd, at);
    case IORING_OP_SPLICE:
    case IORING_OP_TEE:
    case FIN_OP_COPY & ~FIN_OP_POOL:
        return between(c);
    case IORING_OP_SHUTDOWN:
        return shutdown(c->fd, (int)c->len);
    default:
        return of_name(c);
    }
}

int fin_io_direct(const struct call *c) {
    int r;
    do
        r = fin_io_result(of_descriptor(c));
    while (r == -EINTR);
    return r;
}

struct direct {
    struct io *io;
    const struct call *call;
    int result;
    uint32_t place; // of a descriptor that nobody has heard of
};

static void run(void *arg) {
    struct direct *d = arg;
    d->result = fin_io_closed(d->call) ? -EBADF : fin_io_direct(d->call);
    if (d->result >= 0 && fin_io_makes_descriptor(d->call->op))
        d->place = fin_io_hold_opened(d->io, d->result);
}

int fin_io_by_pool(struct io *io, const struct call *c) {
    struct direct d = {.io = io, .call = c};
    int error = fin_io_offload(io, run, &d, c->nc);
    if (!error && d.result >= 0 && fin_io_makes_descriptor(c->op))
        fin_io_take_opened(io, d.place);
    return error ? error : d.result;
}

// SPDX-License-Identifier: BSD-2-Clause
// The public functions of files, directories and descriptors of any kind.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <sys/uio.h>

#include "io/call.h"

#define HERE UINT64_MAX // in the kernel's interface the offset -1 means the file's position

// A priority of polled rings, which no ring here is, and elsewhere a hint.
static uint32_t rw(int flags) { return (uint32_t)flags & ~(uint32_t)RWF_HIPRI; }

// An entry has 32 bits for these lengths.
static uint8_t if_fits(uint8_t op, off_t length) { return (uint64_t)length <= UINT32_MAX ? op : op | FIN_OP_POOL; }
static const void *unless_fits(off_t length) {
    return (uint64_t)length <= UINT32_MAX ? NULL : (const void *)(uintptr_t)length;
}

// clang-format off
CALL(ssize_t, fin_read, (int fd, void *buffer, size_t size),
     .op = IORING_OP_READ, .fd = fd, .addr = buffer, .len = fin_io_most(size), .off = HERE)
CALL(ssize_t, fin_write, (int fd, const void *data, size_t size),
     .op = IORING_OP_WRITE, .fd = fd, .addr = data, .len = fin_io_most(size), .off = HERE)
CALL_IF(offset < 0, ssize_t, fin_pread, (int fd, void *buffer, size_t size, off_t offset),
        .op = IORING_OP_READ, .fd = fd, .addr = buffer, .len = fin_io_most(size), .off = (uint64_t)offset)
CALL_IF(offset < 0, ssize_t, fin_pwrite, (int fd, const void *data, size_t size, off_t offset),
        .op = IORING_OP_WRITE, .fd = fd, .addr = data, .len = fin_io_most(size), .off = (uint64_t)offset)
#define VECTORS .addr = v, .len = (uint32_t)n
#define BAD_VECTORS (n < 0 || n > IOV_MAX)
CALL_IF(BAD_VECTORS, ssize_t, fin_readv, (int fd, const struct iovec *v, int n),
        .op = IORING_OP_READV, .fd = fd, VECTORS, .off = HERE)
CALL_IF(BAD_VECTORS, ssize_t, fin_writev, (int fd, const struct iovec *v, int n),
        .op = IORING_OP_WRITEV, .fd = fd, VECTORS, .off = HERE)
CALL_IF(BAD_VECTORS || offset < 0, ssize_t, fin_preadv, (int fd, const struct iovec *v, int n, off_t offset),
        .op = IORING_OP_READV, .fd = fd, VECTORS, .off = (uint64_t)offset)
CALL_IF(BAD_VECTORS || offset < 0, ssize_t, fin_pwritev, (int fd, const struct iovec *v, int n, off_t offset),
        .op = IORING_OP_WRITEV, .fd = fd, VECTORS, .off = (uint64_t)offset)
CALL_IF(BAD_VECTORS || offset < -1, ssize_t, fin_preadv2, (int fd, const struct iovec *v, int n, off_t offset, int flags),
        .op = IORING_OP_READV, .fd = fd, VECTORS, .off = (uint64_t)offset, .flags = rw(flags))
CALL_IF(BAD_VECTORS || offset < -1, ssize_t, fin_pwritev2, (int fd, const struct iovec *v, int n, off_t offset, int flags),
        .op = IORING_OP_WRITEV, .fd = fd, VECTORS, .off = (uint64_t)offset, .flags = rw(flags))
CALL(int, fin_close, (int fd), .op = IORING_OP_CLOSE, .fd = fd)
CALL(int, fin_poll, (int fd, int events), .op = IORING_OP_POLL_ADD, .fd = fd, .flags = (uint16_t)events)
CALL(ssize_t, fin_tee, (int in, int out, size_t size, unsigned flags),
     .op = IORING_OP_TEE, .fd = out, .file_index = (uint32_t)in, .len = fin_io_most(size), .flags = flags)

CALL(int, fin_fsync, (int fd), .op = IORING_OP_FSYNC, .fd = fd)
CALL(int, fin_fdatasync, (int fd), .op = IORING_OP_FSYNC, .fd = fd, .flags = IORING_FSYNC_DATASYNC)
CALL_IF(offset < 0 || size < 0, int, fin_sync_file_range, (int fd, off_t offset, off_t size, unsigned flags),
        .op = if_fits(IORING_OP_SYNC_FILE_RANGE, size), .fd = fd, .off = (uint64_t)offset, .len = (uint32_t)size,
        .addr = unless_fits(size), .flags = flags)
CALL(int, fin_fallocate, (int fd, int mode, off_t offset, off_t size),
     .op = IORING_OP_FALLOCATE, .fd = fd, .len = (uint32_t)mode, .off = (uint64_t)offset, .addr = (void *)(uintptr_t)size)
CALL_IF(offset < 0 || size < 0, int, fin_fadvise, (int fd, off_t offset, off_t size, int advice),
        .op = if_fits(IORING_OP_FADVISE, size), .fd = fd, .off = (uint64_t)offset, .len = (uint32_t)size,
        .addr = unless_fits(size), .flags = (uint32_t)advice)
CALL(int, fin_ftruncate, (int fd, off_t size), .op = FIN_OP_FTRUNCATE, .fd = fd, .off = (uint64_t)size)
CALL(ssize_t, fin_getdents64, (int fd, void *buffer, size_t size),
     .op = FIN_OP_GETDENTS, .fd = fd, .addr = buffer, .len = fin_io_most(size))

CALL(int, fin_statx, (int dir, const char *path, int flags, unsigned mask, struct statx *out),
     .op = IORING_OP_STATX, .fd = dir, .addr = path, .len = mask, .off = word(out), .flags = (uint32_t)flags)
CALL(int, fin_renameat2, (int dir, const char *from, int to_dir, const char *to, unsigned flags),
     .op = IORING_OP_RENAMEAT, .fd = dir, .addr = from, .len = (uint32_t)to_dir, .off = word(to), .flags = flags)
CALL(int, fin_linkat, (int dir, const char *from, int to_dir, const char *to, int flags),
     .op = IORING_OP_LINKAT, .fd = dir, .addr = from, .len = (uint32_t)to_dir, .off = word(to), .flags = (uint32_t)flags)
CALL(int, fin_symlinkat, (const char *target, int dir, const char *path),
     .op = IORING_OP_SYMLINKAT, .fd = dir, .addr = target, .off = word(path))
CALL(int, fin_unlinkat, (int dir, const char *path, int flags),
     .op = IORING_OP_UNLINKAT, .fd = dir, .addr = path, .flags = (uint32_t)flags)
CALL(int, fin_mkdirat, (int dir, const char *path, mode_t mode),
     .op = IORING_OP_MKDIRAT, .fd = dir, .addr = path, .len = mode)
CALL(ssize_t, fin_readlinkat, (int dir, const char *path, char *buffer, size_t size),
     .op = FIN_OP_READLINKAT, .fd = dir, .addr = path, .off = word(buffer), .len = fin_io_most(size))
CALL(int, fin_rename, (const char *from, const char *to),
     .op = IORING_OP_RENAMEAT, .fd = AT_FDCWD, .addr = from, .len = (uint32_t)AT_FDCWD, .off = word(to))
CALL(int, fin_unlink, (const char *path), .op = IORING_OP_UNLINKAT, .fd = AT_FDCWD, .addr = path)
CALL(int, fin_mkdir, (const char *path, mode_t mode), .op = IORING_OP_MKDIRAT, .fd = AT_FDCWD, .addr = path, .len = mode)
// clang-format on

// io_uring opens a FIFO at times with O_NONBLOCK and at times without. Here it is always with; the file itself is then in
// the mode that was asked for.
static FIN_BLOCKING int open_at(int dir, const char *path, int flags, mode_t mode, bool nc) {
    struct call c = {.op = IORING_OP_OPENAT, .fd = dir, .addr = path, .len = mode, .nc = nc};
    c.flags = (uint32_t)flags | O_NONBLOCK;
    int fd = run(c);
    if (fd == -EAGAIN) { // somebody has a lease on the file
        c.flags = (uint32_t)flags;
        return run(c);
    }
    if (fd >= 0 && !(flags & (O_NONBLOCK | O_PATH)))
        fcntl(fd, F_SETFL, flags);
    return fd;
}

TWICE(int, fin_openat, (int dir, const char *path, int flags, mode_t mode), open_at, dir, path, flags, mode)

TWICE(int, fin_open, (const char *path, int flags, mode_t mode), open_at, AT_FDCWD, path, flags, mode)

// The kernel has the offsets in the entry and does not move them.
static FIN_BLOCKING ssize_t splice_it(int in, off_t *in_at, int out, off_t *out_at, size_t size, unsigned flags, bool nc) {
    struct call c = {
        .op = IORING_OP_SPLICE, .fd = out, .file_index = (uint32_t)in, .len = fin_io_most(size), .flags = flags, .nc = nc};
    c.addr = (void *)(uintptr_t)(in_at ? (uint64_t)*in_at : HERE);
    c.off = out_at ? (uint64_t)*out_at : HERE;
    if ((in_at && *in_at < 0) || (out_at && *out_at < 0))
        return -EINVAL;
    ssize_t n = run(c);
    if (n > 0 && in_at)
        *in_at += n;
    if (n > 0 && out_at)
        *out_at += n;
    return n;
}

TWICE(ssize_t, fin_splice, (int in, off_t *in_at, int out, off_t *out_at, size_t size, unsigned flags), splice_it, in, in_at,
      out, out_at, size, flags)

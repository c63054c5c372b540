// SPDX-License-Identifier: BSD-2-Clause
// The public functions of files, directories and descriptors of any kind.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/call.h"

// A priority of polled rings, which no ring here is, and elsewhere a hint.
static uint32_t rw(int flags) { return (uint32_t)flags & ~(uint32_t)RWF_HIPRI; }

// An entry has 32 bits for these lengths.
static uint8_t if_fits(uint8_t op, off_t length) { return (uint64_t)length <= UINT32_MAX ? op : op | FIN_OP_POOL; }
static const void *unless_fits(off_t length) {
    return (uint64_t)length <= UINT32_MAX ? NULL : (const void *)(uintptr_t)length;
}

// Since Linux 6.11 NULL is as good, but not on a ring.
const char *fin_io_path(const char *path, int flags) { return !path && flags & AT_EMPTY_PATH ? "" : path; }

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
// With all its bits a length has its place in `off`, where older rings want zero.
CALL(int, fin_madvise, (void *memory, size_t size, int advice),
     .op = if_fits(IORING_OP_MADVISE, (off_t)size), .fd = -1, .addr = memory, .len = (uint32_t)size,
     .off = word(unless_fits((off_t)size)), .flags = (uint32_t)advice)
CALL(int, fin_msync, (void *memory, size_t size, int flags),
     .op = FIN_OP_MSYNC, .fd = -1, .addr = memory, .off = size, .flags = (uint32_t)flags)
CALL(int, fin_syncfs, (int fd), .op = FIN_OP_SYNCFS, .fd = fd)
CALL(int, fin_ftruncate, (int fd, off_t size), .op = FIN_OP_FTRUNCATE, .fd = fd, .off = (uint64_t)size)
CALL(ssize_t, fin_getdents64, (int fd, void *buffer, size_t size),
     .op = FIN_OP_GETDENTS, .fd = fd, .addr = buffer, .len = fin_io_most(size))

CALL(int, fin_statx, (int dir, const char *path, int flags, unsigned mask, struct statx *out),
     .op = IORING_OP_STATX, .fd = dir, .addr = fin_io_path(path, flags), .len = mask, .off = word(out),
     .flags = (uint32_t)flags)
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
CALL(int, fin_fchmodat, (int dir, const char *path, mode_t mode, int flags),
     .op = FIN_OP_FCHMODAT, .fd = dir, .addr = path, .len = mode, .flags = (uint32_t)flags)
CALL(int, fin_fchownat, (int dir, const char *path, uid_t owner, gid_t group, int flags),
     .op = FIN_OP_FCHOWNAT, .fd = dir, .addr = path, .len = owner, .off = group, .flags = (uint32_t)flags)
CALL(int, fin_utimensat, (int dir, const char *path, const struct timespec times[2], int flags),
     .op = FIN_OP_UTIMENSAT, .fd = dir, .addr = path, .off = word(times), .flags = (uint32_t)flags)
CALL(int, fin_faccessat, (int dir, const char *path, int mode, int flags),
     .op = FIN_OP_FACCESSAT, .fd = dir, .addr = path, .len = (uint32_t)mode, .flags = (uint32_t)flags)
CALL(int, fin_mknodat, (int dir, const char *path, mode_t mode, dev_t device),
     .op = FIN_OP_MKNODAT, .fd = dir, .addr = path, .len = mode, .off = device)
CALL(int, fin_statfs, (const char *path, struct statfs *out),
     .op = FIN_OP_STATFS, .fd = -1, .addr = path, .off = word(out))
CALL(int, fin_fstatfs, (int fd, struct statfs *out), .op = FIN_OP_FSTATFS, .fd = fd, .off = word(out))
CALL(int, fin_rename, (const char *from, const char *to),
     .op = IORING_OP_RENAMEAT, .fd = AT_FDCWD, .addr = from, .len = (uint32_t)AT_FDCWD, .off = word(to))
CALL(int, fin_unlink, (const char *path), .op = IORING_OP_UNLINKAT, .fd = AT_FDCWD, .addr = path)
CALL(int, fin_mkdir, (const char *path, mode_t mode), .op = IORING_OP_MKDIRAT, .fd = AT_FDCWD, .addr = path, .len = mode)
// clang-format on

// io_uring opens a FIFO at times with O_NONBLOCK and at times without. Here it is always with; the file itself is then in
// the mode that was asked for. `as_asked` is for where somebody has a lease on the file.
static FIN_BLOCKING int open_it(const struct call *without_waiting, const struct call *as_asked, uint64_t flags) {
    int fd = run(*without_waiting);
    if (fd == -EAGAIN)
        return (int)run_again(*as_asked);
    if (fd >= 0 && !(flags & (O_NONBLOCK | O_PATH)))
        fcntl(fd, F_SETFL, (int)flags);
    return fd;
}

static FIN_BLOCKING int open_at(int dir, const char *path, int flags, mode_t mode, bool nc) {
    struct call first = {
        .op = IORING_OP_OPENAT, .fd = dir, .addr = path, .len = mode, .nc = nc, .since = fin_closes_now()};
    struct call second = first;
    first.flags = (uint32_t)flags | O_NONBLOCK;
    second.flags = (uint32_t)flags;
    return open_it(&first, &second, (uint64_t)flags);
}

// What a newer struct has behind ours must be zero, as for a system that does not know it.
static FIN_BLOCKING int open_at_2(int dir, const char *path, const struct open_how *how, size_t size, bool nc) {
    if (size < sizeof *how)
        return -EINVAL;
    if (size > (size_t)sysconf(_SC_PAGESIZE)) // which the system does not look at, either
        return -E2BIG;
    for (size_t i = sizeof *how; i < size; i++)
        if (((const char *)how)[i])
            return -E2BIG;
    struct open_how mine = *how;
    struct call second = {.op = IORING_OP_OPENAT2, .fd = dir, .addr = path, .len = sizeof mine, .off = word(how),
                          .nc = nc, .since = fin_closes_now()};
    struct call first = second;
    mine.flags |= mine.flags & O_PATH ? 0 : O_NONBLOCK; // only this call says so where a flag is of no use
    first.off = word(&mine);
    return open_it(&first, &second, how->flags);
}

TWICE(int, fin_openat, (int dir, const char *path, int flags, mode_t mode), open_at, dir, path, flags, mode)

TWICE(int, fin_openat2, (int dir, const char *path, const struct open_how *how, size_t size), open_at_2, dir, path, how,
      size)

TWICE(int, fin_open, (const char *path, int flags, mode_t mode), open_at, AT_FDCWD, path, flags, mode)

// SPDX-License-Identifier: BSD-2-Clause
// Files, directories, and descriptors of any kind. See fin/io.h for what holds for all of them: results, cancellation,
// counts.
#ifndef FIN_FILE_H
#define FIN_FILE_H

#include <fin/finish.h>

#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct iovec;
struct open_how;
struct statfs;
struct statx;
struct timespec;

// Read and write at the file's position, or from and to something that has none. Calls at one position that overlap, in
// one thread or several, each transfer a part of their own, and whole, as with read(2) and write(2). So within a process:
// one that shares the open file with others should leave its position alone meanwhile. What the page cache has is
// transferred by the thread, which waits if somebody is in read(2) or write(2) there; the rest by the pool (fin/io.h), where
// a file whose read waits for ever, as of /proc/kmsg, is not cancelled any more. Writing to a pipe or socket that nobody
// reads raises SIGPIPE, as write(2) does; fin_send does not. A descriptor that can be polled but neither read nor written,
// such as an epoll, is first waited for. Without io_uring a pipe counts as full when it has no free page, even if its last
// page has room. With io_uring a terminal that takes only a part of what is written blocks the thread until it takes the
// rest, unless it is in non-blocking mode. A read of 0 bytes is 0, as readv(2) of no buffers, of whatever may be read.
FIN_BLOCKING ssize_t fin_read(int fd, void *buffer, size_t size);
FIN_BLOCKING ssize_t fin_read_nc(int fd, void *buffer, size_t size);
FIN_BLOCKING ssize_t fin_write(int fd, const void *data, size_t size);
FIN_BLOCKING ssize_t fin_write_nc(int fd, const void *data, size_t size);

// The same with several buffers: at most IOV_MAX, or -EINVAL. With io_uring, a read into buffers that are all empty waits
// until there is something to read, if it is from a terminal, an inotify or, before Linux 6.4, a pipe.
FIN_BLOCKING ssize_t fin_readv(int fd, const struct iovec *buffers, int count);
FIN_BLOCKING ssize_t fin_readv_nc(int fd, const struct iovec *buffers, int count);
FIN_BLOCKING ssize_t fin_writev(int fd, const struct iovec *buffers, int count);
FIN_BLOCKING ssize_t fin_writev_nc(int fd, const struct iovec *buffers, int count);

// Read and write at a position, which leaves the file's own where it is. For files that have positions: on others the result
// is -ESPIPE or, because io_uring does not check, that of fin_read and fin_write.
FIN_BLOCKING ssize_t fin_pread(int fd, void *buffer, size_t size, off_t offset);
FIN_BLOCKING ssize_t fin_pread_nc(int fd, void *buffer, size_t size, off_t offset);
FIN_BLOCKING ssize_t fin_pwrite(int fd, const void *data, size_t size, off_t offset);
FIN_BLOCKING ssize_t fin_pwrite_nc(int fd, const void *data, size_t size, off_t offset);
FIN_BLOCKING ssize_t fin_preadv(int fd, const struct iovec *buffers, int count, off_t offset);
FIN_BLOCKING ssize_t fin_preadv_nc(int fd, const struct iovec *buffers, int count, off_t offset);
FIN_BLOCKING ssize_t fin_pwritev(int fd, const struct iovec *buffers, int count, off_t offset);
FIN_BLOCKING ssize_t fin_pwritev_nc(int fd, const struct iovec *buffers, int count, off_t offset);

// The same with flags. An offset of -1 is the file's position. RWF_HIPRI is not passed on; RWF_NOWAIT returns -EAGAIN
// instead of waiting, also if the file cannot tell whether it would wait (for which preadv2(2) returns -EOPNOTSUPP).
FIN_BLOCKING ssize_t fin_preadv2(int fd, const struct iovec *buffers, int count, off_t offset, int flags);
FIN_BLOCKING ssize_t fin_preadv2_nc(int fd, const struct iovec *buffers, int count, off_t offset, int flags);
FIN_BLOCKING ssize_t fin_pwritev2(int fd, const struct iovec *buffers, int count, off_t offset, int flags);
FIN_BLOCKING ssize_t fin_pwritev2_nc(int fd, const struct iovec *buffers, int count, off_t offset, int flags);

// Read and write, going on until all is transferred: then the result is 0. Otherwise it is the reason: an error, -ECANCELED,
// or -ENODATA at the end of what is read. If done is not NULL, *done is in each case exactly how many bytes were
// transferred. After -ECANCELED, too: it need not be 0 then, and a stream goes on from there. A `size` of 0 gives 0,
// whatever the descriptor is, or -ECANCELED as all that is called in a cancelled block.
FIN_BLOCKING int fin_read_all(int fd, void *buffer, size_t size, size_t *done);
FIN_BLOCKING int fin_read_all_nc(int fd, void *buffer, size_t size, size_t *done);
FIN_BLOCKING int fin_write_all(int fd, const void *data, size_t size, size_t *done);
FIN_BLOCKING int fin_write_all_nc(int fd, const void *data, size_t size, size_t *done);

// fin_splice moves data between a pipe and something else without copying it; fin_tee passes data from one pipe to another
// without taking it from the first. A NULL offset means the file's position; otherwise *offset is moved. Both wait until
// there is something, and room for it; meanwhile others can use the pipe. A `size` of 0 gives 0, whatever the descriptors
// are. A socket is put into non-blocking mode for a moment, which others may see. Both may raise SIGPIPE.
FIN_BLOCKING ssize_t fin_splice(int in, off_t *in_offset, int out, off_t *out_offset, size_t size, unsigned flags);
FIN_BLOCKING ssize_t fin_splice_nc(int in, off_t *in_offset, int out, off_t *out_offset, size_t size, unsigned flags);
FIN_BLOCKING ssize_t fin_tee(int in, int out, size_t size, unsigned flags);
FIN_BLOCKING ssize_t fin_tee_nc(int in, int out, size_t size, unsigned flags);

// Copies within the system, from file to file; the file system may share the blocks instead. Offsets as above. 0 at the end
// of `in`. Runs on the thread pool, and once begun is not cancelled: to be able to stop in between, copy less at a time.
// -EXDEV between many file systems of different kinds: there fin_read and fin_write_all copy.
FIN_BLOCKING ssize_t fin_copy_file_range(int in, off_t *in_offset, int out, off_t *out_offset, size_t size, unsigned flags);
FIN_BLOCKING ssize_t fin_copy_file_range_nc(int in, off_t *in_offset, int out, off_t *out_offset, size_t size,
                                            unsigned flags);

// Sends what a file has at an offset, or at its position, to a socket or pipe without copying it, through a pipe of its own
// (-EMFILE, -ENFILE). Goes on until `size` bytes are sent or the file ends. Returns how much was sent, even if it was
// cancelled or met an error after that; *offset, or the position, is then after what was sent. -ECANCELED: nothing was sent.
// What was read but not sent when a limit of time is over is read again by the next call: so with limits that are shorter
// than one way to the thread pool nothing is ever sent. May raise SIGPIPE. What is written to the file before the receiver
// has read that place may be received instead.
FIN_BLOCKING ssize_t fin_sendfile(int out, int in, off_t *offset, size_t size);
FIN_BLOCKING ssize_t fin_sendfile_nc(int out, int in, off_t *offset, size_t size);

// Waits until one of the events of <poll.h> (POLLIN, POLLOUT, ...) holds, or POLLERR or POLLHUP; returns those that do, as
// poll(2). A regular file is always ready for reading and writing; -EINVAL if only other events are asked for.
FIN_BLOCKING int fin_poll(int fd, int events);
FIN_BLOCKING int fin_poll_nc(int fd, int events);

// Closes a descriptor. -ECANCELED: it is still open, but what had to be tried again meanwhile may have ended with -EBADF.
// Code that cleans up should use fin_close_nc. Once begun it is not cancelled. A thread that cannot get what it needs to
// wait closes all the same. Where a file system says ECANCELED of a close that it has made this says -EIO.
FIN_BLOCKING int fin_close(int fd);
FIN_BLOCKING int fin_close_nc(int fd);

// Opens a file. A cancelled open that had opened the file returns its descriptor. A FIFO is opened without waiting for its
// other end, as with O_NONBLOCK.
FIN_BLOCKING int fin_openat(int dir, const char *path, int flags, mode_t mode);
FIN_BLOCKING int fin_openat_nc(int dir, const char *path, int flags, mode_t mode);
// The same with all the options that the system has (linux/openat2.h): a path that stays below `dir`, that follows no links
// ...
FIN_BLOCKING int fin_openat2(int dir, const char *path, const struct open_how *how, size_t size);
FIN_BLOCKING int fin_openat2_nc(int dir, const char *path, const struct open_how *how, size_t size);

// Write what was written to a file to the disk; take or give back space for a file.
FIN_BLOCKING int fin_fsync(int fd);
FIN_BLOCKING int fin_fsync_nc(int fd);
FIN_BLOCKING int fin_fdatasync(int fd);
FIN_BLOCKING int fin_fdatasync_nc(int fd);
FIN_BLOCKING int fin_sync_file_range(int fd, off_t offset, off_t size, unsigned flags);
FIN_BLOCKING int fin_sync_file_range_nc(int fd, off_t offset, off_t size, unsigned flags);
FIN_BLOCKING int fin_fallocate(int fd, int mode, off_t offset, off_t size);
FIN_BLOCKING int fin_fallocate_nc(int fd, int mode, off_t offset, off_t size);
FIN_BLOCKING int fin_ftruncate(int fd, off_t size);
FIN_BLOCKING int fin_ftruncate_nc(int fd, off_t size);
// Says how the file will be used: posix_fadvise(2).
FIN_BLOCKING int fin_fadvise(int fd, off_t offset, off_t size, int advice);
FIN_BLOCKING int fin_fadvise_nc(int fd, off_t offset, off_t size, int advice);
FIN_BLOCKING int fin_syncfs(int fd);
FIN_BLOCKING int fin_syncfs_nc(int fd);
// Mapped memory: fin_madvise says what is to become of it, which may mean reading a file (MADV_POPULATE_READ); fin_msync
// writes what was stored there to its file.
FIN_BLOCKING int fin_madvise(void *memory, size_t size, int advice);
FIN_BLOCKING int fin_madvise_nc(void *memory, size_t size, int advice);
FIN_BLOCKING int fin_msync(void *memory, size_t size, int flags);
FIN_BLOCKING int fin_msync_nc(void *memory, size_t size, int flags);

// Ask what is known about a file; make and change names of files, and directories. fin_unlinkat with AT_REMOVEDIR removes a
// directory. For fin_statx with AT_EMPTY_PATH NULL is as good as "".
FIN_BLOCKING int fin_statx(int dir, const char *path, int flags, unsigned mask, struct statx *out);
FIN_BLOCKING int fin_statx_nc(int dir, const char *path, int flags, unsigned mask, struct statx *out);
FIN_BLOCKING int fin_renameat2(int dir, const char *from, int to_dir, const char *to, unsigned flags);
FIN_BLOCKING int fin_renameat2_nc(int dir, const char *from, int to_dir, const char *to, unsigned flags);
FIN_BLOCKING int fin_linkat(int dir, const char *from, int to_dir, const char *to, int flags);
FIN_BLOCKING int fin_linkat_nc(int dir, const char *from, int to_dir, const char *to, int flags);
FIN_BLOCKING int fin_symlinkat(const char *target, int dir, const char *path);
FIN_BLOCKING int fin_symlinkat_nc(const char *target, int dir, const char *path);
FIN_BLOCKING int fin_unlinkat(int dir, const char *path, int flags);
FIN_BLOCKING int fin_unlinkat_nc(int dir, const char *path, int flags);
FIN_BLOCKING int fin_mkdirat(int dir, const char *path, mode_t mode);
FIN_BLOCKING int fin_mkdirat_nc(int dir, const char *path, mode_t mode);

// Open, rename, unlink and mkdir relative to the working directory.
FIN_BLOCKING int fin_open(const char *path, int flags, mode_t mode);
FIN_BLOCKING int fin_open_nc(const char *path, int flags, mode_t mode);
FIN_BLOCKING int fin_rename(const char *from, const char *to);
FIN_BLOCKING int fin_rename_nc(const char *from, const char *to);
FIN_BLOCKING int fin_unlink(const char *path);
FIN_BLOCKING int fin_unlink_nc(const char *path);
FIN_BLOCKING int fin_mkdir(const char *path, mode_t mode);
FIN_BLOCKING int fin_mkdir_nc(const char *path, mode_t mode);

// Read a symbolic link's target, and the entries of a directory. These always run on the thread pool, even with io_uring.
// fin_getdents64 gives one struct dirent64 after the other (dirent.h, with _GNU_SOURCE), and 0 at the end.
FIN_BLOCKING ssize_t fin_readlinkat(int dir, const char *path, char *buffer, size_t size);
FIN_BLOCKING ssize_t fin_readlinkat_nc(int dir, const char *path, char *buffer, size_t size);
FIN_BLOCKING ssize_t fin_getdents64(int fd, void *buffer, size_t size);
FIN_BLOCKING ssize_t fin_getdents64_nc(int fd, void *buffer, size_t size);

// Set permissions, owner and times; ask whether a file may be accessed; make FIFOs and device files; ask what is known about
// a file system. These run on the thread pool. AT_EMPTY_PATH means the file `dir` itself if the system call has that flag.
FIN_BLOCKING int fin_fchmodat(int dir, const char *path, mode_t mode, int flags);
FIN_BLOCKING int fin_fchmodat_nc(int dir, const char *path, mode_t mode, int flags);
FIN_BLOCKING int fin_fchownat(int dir, const char *path, uid_t owner, gid_t group, int flags);
FIN_BLOCKING int fin_fchownat_nc(int dir, const char *path, uid_t owner, gid_t group, int flags);
FIN_BLOCKING int fin_utimensat(int dir, const char *path, const struct timespec times[2], int flags);
FIN_BLOCKING int fin_utimensat_nc(int dir, const char *path, const struct timespec times[2], int flags);
FIN_BLOCKING int fin_faccessat(int dir, const char *path, int mode, int flags);
FIN_BLOCKING int fin_faccessat_nc(int dir, const char *path, int mode, int flags);
FIN_BLOCKING int fin_mknodat(int dir, const char *path, mode_t mode, dev_t device);
FIN_BLOCKING int fin_mknodat_nc(int dir, const char *path, mode_t mode, dev_t device);
FIN_BLOCKING int fin_statfs(const char *path, struct statfs *out);
FIN_BLOCKING int fin_statfs_nc(const char *path, struct statfs *out);
FIN_BLOCKING int fin_fstatfs(int fd, struct statfs *out);
FIN_BLOCKING int fin_fstatfs_nc(int fd, struct statfs *out);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: BSD-2-Clause
// The points: what the library calls, by way of the linker's --wrap. See fault.h. (tests/fault/meson.build has their list.)
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <liburing.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "points.h"

enum { MOST_ADVICE = 12, MOST_HANDLERS = 32 };

struct points *points;
const bool below = false;
void begin_child(void) {}
int serve_child(pid_t pid) {
    (void)pid;
    return 0;
}

static void hit(const char *name, int error) {
    strncpy(points->name, name, sizeof points->name - 1);
    points->error = error;
}

// error 0: here nothing can go wrong in this way.
static bool fails(const char *name, int error) {
    if (!points || !points->armed || error == 0)
        return false;
    if (__atomic_fetch_add(&points->count, 1, __ATOMIC_SEQ_CST) != points->chosen)
        return false;
    hit(name, error);
    errno = error;
    return true;
}

// It failed; or it was interrupted, and is to be tried again.
static int either(int hard, int soft) {
    return !points || points->how == HARD ? hard : points->how == INTERRUPTED ? soft : 0;
}

#define POINT(type, name, parameters, arguments, failed, hard, soft)                                                        \
    type __real_##name parameters;                                                                                          \
    type __wrap_##name parameters { return fails(#name, either(hard, soft)) ? (failed) : __real_##name arguments; }

static void counts(size_t what, bool got, long by) {
    if (points && got)
        __atomic_fetch_add((long *)((char *)points + what), by, __ATOMIC_SEQ_CST);
}
enum { BLOCKS = offsetof(struct points, blocks), MAPPED = offsetof(struct points, mapped) };

// Memory: what is live is counted.
#define MEMORY(name, parameters, arguments)                                                                                 \
    void *__real_##name parameters;                                                                                         \
    void *__wrap_##name parameters {                                                                                        \
        void *p = fails(#name, either(ENOMEM, 0)) ? NULL : __real_##name arguments;                                         \
        counts(BLOCKS, p, 1);                                                                                               \
        return p;                                                                                                           \
    }
MEMORY(malloc, (size_t n), (n))
MEMORY(calloc, (size_t n, size_t size), (n, size))
MEMORY(aligned_alloc, (size_t a, size_t n), (a, n))

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n) {
    void *q = fails("realloc", either(ENOMEM, 0)) ? NULL : __real_realloc(p, n);
    counts(BLOCKS, q && !p, 1);
    return q;
}

void __real_free(void *p);
void __wrap_free(void *p) {
    counts(BLOCKS, p, -1);
    __real_free(p);
}

void *__real_mmap64(void *at, size_t n, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t n, int prot, int flags, int fd, off_t offset) {
    void *p = fails("mmap", either(ENOMEM, 0)) ? MAP_FAILED : __real_mmap64(at, n, prot, flags, fd, offset);
    counts(MAPPED, p != MAP_FAILED && !(flags & MAP_FIXED), (long)((n + 4095) / 4096));
    return p;
}

int __real_munmap(void *p, size_t n);
int __wrap_munmap(void *p, size_t n) {
    counts(MAPPED, true, -(long)((n + 4095) / 4096));
    return __real_munmap(p, n);
}

POINT(int, mprotect, (void *p, size_t n, int prot), (p, n, prot), -1, ENOMEM, 0)

// One for each stack; the later ones are as the first.
int __real_madvise(void *p, size_t n, int advice);
int __wrap_madvise(void *p, size_t n, int advice) {
    bool counts = points && points->armed && __atomic_fetch_add(&points->advice, 1, __ATOMIC_SEQ_CST) < MOST_ADVICE;
    return counts && fails("madvise", either(EINVAL, 0)) ? -1 : __real_madvise(p, n, advice);
}

// Descriptors
POINT(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1, EMFILE, 0)
POINT(int, socketpair, (int domain, int type, int protocol, int *fd), (domain, type, protocol, fd), -1, EMFILE, 0)
POINT(int, pipe2, (int *fd, int flags), (fd, flags), -1, EMFILE, 0)
POINT(int, accept4, (int fd, struct sockaddr *a, socklen_t *n, int flags), (fd, a, n, flags), -1, EMFILE, EINTR)
POINT(int, epoll_create1, (int flags), (flags), -1, EMFILE, 0)
POINT(int, timerfd_create, (int clock, int flags), (clock, flags), -1, EMFILE, 0)
POINT(int, eventfd, (unsigned value, int flags), (value, flags), -1, EMFILE, 0)
POINT(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1, EMFILE, 0)
POINT(int, epoll_ctl, (int e, int op, int fd, struct epoll_event *event), (e, op, fd, event), -1, ENOSPC, 0)
POINT(int, epoll_wait, (int e, struct epoll_event *events, int n, int ms), (e, events, n, ms), -1, 0, EINTR)
POINT(int, poll, (struct pollfd * p, nfds_t n, int ms), (p, n, ms), -1, ENOMEM, EINTR)
POINT(int, ppoll, (struct pollfd * p, nfds_t n, const struct timespec *t, const sigset_t *s), (p, n, t, s), -1, 0, EINTR)

int __real_open64(const char *path, int flags, mode_t mode);
int __wrap_open64(const char *path, int flags, mode_t mode) {
    return fails("open", either(EMFILE, 0)) ? -1 : __real_open64(path, flags, mode);
}

int __real_openat64(int dir, const char *path, int flags, mode_t mode);
int __wrap_openat64(int dir, const char *path, int flags, mode_t mode) {
    return fails("openat", either(EMFILE, EINTR)) ? -1 : __real_openat64(dir, path, flags, mode);
}

// Flags are always there to be read and, but for one of them, to be set.
int __real_fcntl64(int fd, int command, long arg);
int __wrap_fcntl64(int fd, int command, ...) {
    va_list list;
    va_start(list, command);
    long arg = va_arg(list, long);
    va_end(list);
    int error = command == F_DUPFD_CLOEXEC ? EMFILE : command == F_ADD_SEALS ? EBUSY : 0;
    return fails("fcntl", either(error, 0)) ? -1 : __real_fcntl64(fd, command, arg);
}

// Whatever it says, the descriptor is gone.
int __real_close(int fd);
int __wrap_close(int fd) {
    bool failed = fails("close", either(EIO, EINTR));
    int error = errno, r = __real_close(fd);
    errno = failed ? error : errno;
    return failed ? -1 : r;
}

int __real_pthread_key_create(pthread_key_t *key, void (*end)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*end)(void *)) {
    return fails("pthread_key_create", either(EAGAIN, 0)) ? EAGAIN : __real_pthread_key_create(key, end);
}

// These return the error.
#define SAYS(name, parameters, arguments)                                                                                   \
    int __real_##name parameters;                                                                                           \
    int __wrap_##name parameters { return fails(#name, either(ENOMEM, 0)) ? ENOMEM : __real_##name arguments; }
SAYS(pthread_setspecific, (pthread_key_t key, const void *value), (key, value))
SAYS(pthread_getattr_np, (pthread_t t, pthread_attr_t *a), (t, a))

int __real_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
    static void (*known[MOST_HANDLERS])(void); // threads that come at once may both register one
    if (fails("pthread_atfork", either(ENOMEM, 0)))
        return ENOMEM;
    int error = __real_pthread_atfork(before, parent, child);
    for (int i = 0; points && error == 0 && i < MOST_HANDLERS; i++) {
        void (*none)(void) = NULL;
        if (__atomic_compare_exchange_n(&known[i], &none, child, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            __atomic_add_fetch(&points->handlers, 1, __ATOMIC_SEQ_CST);
        if (!none || none == child)
            break;
    }
    return error;
}

POINT(int, dup2, (int from, int to), (from, to), -1, EBUSY, 0)
POINT(int, getrlimit64, (int which, struct rlimit *r), (which, r), -1, EPERM, 0)

// Transfers
POINT(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n), -1, EIO, EINTR)

// A pipe that has room takes what it is given.
ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n) {
    struct stat s;
    bool is_pipe = fstat(fd, &s) == 0 && S_ISFIFO(s.st_mode);
    return !is_pipe && fails("write", either(EIO, EINTR)) ? -1 : __real_write(fd, p, n);
}

POINT(ssize_t, pread64, (int fd, void *p, size_t n, off_t at), (fd, p, n, at), -1, EIO, EINTR)
POINT(ssize_t, pwrite64, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at), -1, EIO, EINTR)
POINT(ssize_t, preadv64v2, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags), -1, EIO,
      flags &RWF_NOWAIT ? EAGAIN : EINTR)
POINT(ssize_t, pwritev64v2, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags), -1, EIO,
      flags &RWF_NOWAIT ? EAGAIN : EINTR)
POINT(ssize_t, send, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags), -1, ENOBUFS, EINTR)
POINT(ssize_t, recv, (int fd, void *p, size_t n, int flags), (fd, p, n, flags), -1, ENOMEM, EINTR)
POINT(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), -1, ENOBUFS, EINTR)
POINT(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), -1, ENOMEM, EINTR)
POINT(int, connect, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n), -1, ENETUNREACH, 0)
POINT(int, bind, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n), -1, EADDRINUSE, 0)
POINT(int, listen, (int fd, int n), (fd, n), -1, ENOBUFS, 0)
POINT(int, ftruncate64, (int fd, off_t n), (fd, n), -1, ENOSPC, 0)
POINT(int, fallocate64, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n), -1, ENOSPC, EINTR)
POINT(int, fsync, (int fd), (fd), -1, EIO, EINTR)
POINT(int, fdatasync, (int fd), (fd), -1, EIO, EINTR)
POINT(int, sync_file_range, (int fd, off_t at, off_t n, unsigned flags), (fd, at, n, flags), -1, EIO, 0)
POINT(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags), -1, EIO, 0)
POINT(int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode), -1, ENOSPC, 0)
POINT(int, symlinkat, (const char *to, int dir, const char *path), (to, dir, path), -1, ENOSPC, 0)
POINT(int, linkat, (int dir, const char *a, int to, const char *b, int flags), (dir, a, to, b, flags), -1, ENOSPC, 0)
POINT(int, renameat2, (int dir, const char *a, int to, const char *b, unsigned flags), (dir, a, to, b, flags), -1, ENOSPC, 0)
POINT(ssize_t, readlinkat, (int dir, const char *path, char *p, size_t n), (dir, path, p, n), -1, EIO, 0)
POINT(ssize_t, getdents64, (int fd, void *p, size_t n), (fd, p, n), -1, EIO, 0)
POINT(int, fstatat64, (int dir, const char *path, struct stat *s, int flags), (dir, path, s, flags), -1, ENOMEM, 0)
POINT(ssize_t, copy_file_range, (int in, off_t *from, int out, off_t *to, size_t n, unsigned flags),
      (in, from, out, to, n, flags), -1, EIO, EINTR)
POINT(int, msync, (void *p, size_t n, int flags), (p, n, flags), -1, EIO, 0)
POINT(int, syncfs, (int fd), (fd), -1, EIO, 0)
POINT(int, fchmodat, (int dir, const char *path, mode_t mode, int flags), (dir, path, mode, flags), -1, EIO, 0)
POINT(int, fchownat, (int dir, const char *path, uid_t u, gid_t g, int flags), (dir, path, u, g, flags), -1, EIO, 0)
POINT(int, utimensat, (int dir, const char *path, const struct timespec *t, int flags), (dir, path, t, flags), -1, EIO, 0)
POINT(int, faccessat, (int dir, const char *path, int mode, int flags), (dir, path, mode, flags), -1, EIO, 0)
POINT(int, mknodat, (int dir, const char *path, mode_t mode, dev_t number), (dir, path, mode, number), -1, ENOSPC, 0)
POINT(int, statfs64, (const char *path, struct statfs *s), (path, s), -1, EIO, 0)
// Of a path, of a link itself and of a descriptor.
#define XATTR(before, type, of)                                                                                             \
    POINT(int, before##setxattr, (type of, const char *n, const void *v, size_t s, int f), (of, n, v, s, f), -1, ENOSPC, 0) \
    POINT(ssize_t, before##getxattr, (type of, const char *n, void *v, size_t s), (of, n, v, s), -1, EIO, 0)                \
    POINT(ssize_t, before##listxattr, (type of, char *v, size_t s), (of, v, s), -1, EIO, 0)                                 \
    POINT(int, before##removexattr, (type of, const char *n), (of, n), -1, EIO, 0)
XATTR(, const char *, path)
XATTR(l, const char *, path)
XATTR(f, int, fd)
POINT(int, statx, (int dir, const char *path, int flags, unsigned mask, struct statx *s), (dir, path, flags, mask, s), -1,
      ENOMEM, 0)
POINT(ssize_t, tee, (int in, int out, size_t n, unsigned flags), (in, out, n, flags), -1, ENOMEM, EINTR)
POINT(ssize_t, splice, (int in, off_t *from, int out, off_t *to, size_t n, unsigned flags), (in, from, out, to, n, flags),
      -1, ENOMEM, EINTR)

// Threads and processes
int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg) {
    return fails("pthread_create", either(EAGAIN, 0)) ? EAGAIN : __real_pthread_create(t, a, fn, arg);
}

int __real_clone(int (*fn)(void *), void *stack, int flags, void *arg, void *pidfd);
int __wrap_clone(int (*fn)(void *), void *stack, int flags, void *arg, ...) {
    va_list list;
    va_start(list, arg);
    void *pidfd = flags & CLONE_PIDFD ? va_arg(list, void *) : NULL;
    va_end(list);
    return fails("clone", either(EAGAIN, 0)) ? -1 : __real_clone(fn, stack, flags, arg, pidfd);
}

POINT(int, chdir, (const char *path), (path), -1, EIO, 0)
POINT(int, execvpe, (const char *path, char *const *argv, char *const *envp), (path, argv, envp), -1, ENOMEM, 0)
POINT(int, waitid, (idtype_t type, id_t id, siginfo_t *i, int flags), (type, id, i, flags), -1, 0, EINTR)
POINT(int, sigaltstack, (const stack_t *s, stack_t *old), (s, old), -1, ENOMEM, 0)

long __real_syscall(long n, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long n, ...) {
    va_list list;
    long a[6];
    va_start(list, n);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    bool barrier = n == SYS_membarrier && a[0] == MEMBARRIER_CMD_GLOBAL_EXPEDITED; // of who could register
    bool can = n == SYS_gettid || n == SYS_futex || n == SYS_tgkill || n == SYS_write || barrier; // write: the pipe has room
    int hard = can ? 0 : ENOSYS;
    bool waits = n == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT; // a wake cannot fail
    if (fails("syscall", either(hard, waits ? EINTR : 0)))
        return -1;
    return __real_syscall(n, a[0], a[1], a[2], a[3], a[4], a[5]);
}

// The ring
#define RING(name, parameters, arguments, hard, soft)                                                                       \
    int __real_##name parameters;                                                                                           \
    int __wrap_##name parameters { return fails(#name, either(hard, soft)) ? -errno : __real_##name arguments; }
RING(io_uring_queue_init_params, (unsigned n, struct io_uring *r, struct io_uring_params *p), (n, r, p), EMFILE, ENOMEM)
RING(io_uring_register_ring_fd, (struct io_uring * r), (r), ENOMEM, 0)
RING(io_uring_register_buf_ring, (struct io_uring * r, struct io_uring_buf_reg *b, unsigned flags), (r, b, flags), ENOMEM, 0)
RING(io_uring_register_files, (struct io_uring * r, const int *fd, unsigned n), (r, fd, n), ENOMEM, 0)
RING(io_uring_register_files_update, (struct io_uring * r, unsigned at, const int *fd, unsigned n), (r, at, fd, n), ENOMEM,
     0)
RING(io_uring_register_buffers_tags, (struct io_uring * r, const struct iovec *v, const __u64 *t, unsigned n), (r, v, t, n),
     ENOMEM, 0)
RING(io_uring_register_buffers_update_tag,
     (struct io_uring * r, unsigned at, const struct iovec *v, const __u64 *t, unsigned n), (r, at, v, t, n), ENOMEM, 0)
RING(io_uring_register_probe, (struct io_uring * r, struct io_uring_probe *p, unsigned n), (r, p, n), ENOMEM, 0)

// A completion fails: the request goes down as one that does nothing but complete so. Which ones can be interrupted, and are
// then tried again, is the library's affair; a cancel is not, nor, once begun, a close or a connect.
static int completion_error(const struct io_uring_sqe *e) {
    if (!points->completions || e->opcode == IORING_OP_NOP)
        return 0;
    if (points->how == HARD)
        return ENOMEM;
    if (e->opcode == IORING_OP_ASYNC_CANCEL)
        return 0;
    if (points->how == UNSTARTED)
        return ECANCELED;
    return e->opcode == IORING_OP_CLOSE || e->opcode == IORING_OP_CONNECT ? 0 : EINTR;
}

static void spoil_requests(struct io_uring *r) {
    unsigned mask = *r->sq.kring_mask;
    for (unsigned i = r->sq.sqe_head; i != r->sq.sqe_tail; i++) {
        struct io_uring_sqe *e = &r->sq.sqes[i & mask];
        char name[32];
        snprintf(name, sizeof name, "completion of %d", e->opcode);
        if (!fails(name, completion_error(e)))
            continue;
        *e = (struct io_uring_sqe){.opcode = IORING_OP_NOP,
                                   .flags = e->flags & (IOSQE_IO_LINK | IOSQE_IO_HARDLINK),
                                   .fd = -1,
                                   .len = (unsigned)-points->error,
                                   .rw_flags = INJECT_RESULT,
                                   .user_data = e->user_data};
    }
}

#define ENTER(name, parameters, arguments)                                                                                  \
    int __real_##name parameters;                                                                                           \
    int __wrap_##name parameters {                                                                                          \
        if (points && points->armed)                                                                                        \
            spoil_requests(r);                                                                                              \
        return fails(#name, either(EAGAIN, EINTR)) ? -errno : __real_##name arguments;                                      \
    }
ENTER(io_uring_submit_and_get_events, (struct io_uring * r), (r))
ENTER(io_uring_submit_and_wait, (struct io_uring * r, unsigned n), (r, n))
ENTER(io_uring_submit_and_wait_timeout,
      (struct io_uring * r, struct io_uring_cqe **c, unsigned n, struct __kernel_timespec *t, sigset_t *s), (r, c, n, t, s))
RING(io_uring_get_events, (struct io_uring * r), (r), 0, EINTR)

// SPDX-License-Identifier: BSD-2-Clause
// Calls made so that they do not block: for the epoll back end, and splices. -EAGAIN says that they would have.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/cached.h"
#include "io/libc.h"

// Calls that have no flag for it, nor another way, are made on a descriptor that does not block for the moment. The flag
// belongs to the open file, which other threads may use the same way, and other processes in any way.
static pthread_mutex_t unblocking = PTHREAD_MUTEX_INITIALIZER;

void fin_try_forked(void) { pthread_mutex_init(&unblocking, NULL); }

static int accept_it(const struct call *c) {
    socklen_t *size = (socklen_t *)(uintptr_t)c->off;
    return fin_io_result(accept4(c->fd, (struct sockaddr *)c->addr, size, (int)c->flags));
}

static int connect_it(const struct call *c) { return fin_io_result(connect(c->fd, c->addr, (socklen_t)c->off)); }

static int unblocked(int fd, const struct call *c, int (*make)(const struct call *)) {
    pthread_mutex_lock(&unblocking);
    int flags = fcntl(fd, F_GETFL), r;
    if (flags < 0) {
        r = -errno;
    } else if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        r = -errno; // a filter: the call might block the thread, and all that want the mutex
    } else {
        r = make(c);
        if (!(flags & O_NONBLOCK))
            fcntl(fd, F_SETFL, flags);
    }
    pthread_mutex_unlock(&unblocking);
    return r;
}

// A filter may allow one of two, and which of them poll(3) is depends on the libc.
static int poll_now(struct pollfd *p) {
    int r = poll(p, 1, 0);
#ifdef SYS_poll
    if (r < 0 && fin_host_denied(-errno))
        r = (int)syscall(SYS_poll, p, 1, 0);
#endif
    return r < 0 && fin_host_denied(-errno) ? ppoll(p, 1, &(struct timespec){0}, NULL) : r;
}

int fin_io_ready_now(int fd, int events) {
    struct pollfd p = {.fd = fd, .events = (short)events};
    int r;
    do
        r = poll_now(&p);
    while (r < 0 && errno == EINTR); // by a signal, though it does not wait
    return fd < 0 ? -EBADF : r < 0 ? -errno : p.revents & POLLNVAL ? -EBADF : p.revents;
}

struct vectors {
    struct iovec one;
    const struct iovec *v;
    size_t n;
};

static void vectors_of(const struct call *c, struct vectors *v) {
    bool many = c->op == IORING_OP_READV || c->op == IORING_OP_WRITEV;
    v->one = (struct iovec){(void *)c->addr, c->len};
    v->v = many ? c->addr : &v->one;
    v->n = many ? c->len : 1;
}

static size_t total(const struct vectors *v) {
    size_t sum = 0;
    for (size_t i = 0; i < v->n; i++)
        sum += v->v[i].iov_len;
    return sum;
}

static bool inwards(const struct call *c) { return c->op == IORING_OP_READ || c->op == IORING_OP_READV; }

static int with_flags(const struct call *c, const struct vectors *v, int flags) {
    off_t at = (off_t)c->off;
    return fin_io_vectors(inwards(c), c->fd, v->v, (int)v->n, at, flags);
}

static bool are_there(const struct vectors *v) {
    struct iovec one;
    bool there = true;
    for (size_t i = 0; i < v->n && there; i++)
        there = fin_host_read(&one, &v->v[i], sizeof one);
    return there;
}

// Where a filter denies the calls that have flags it is as if the file had not this one; but nobody has seen the vectors.
// (glibc makes of ENOSYS what the kernel says of such files.)
static int nowait(const struct call *c, const struct vectors *v) {
    int r = with_flags(c, v, (int)c->flags | RWF_NOWAIT);
    if (r != -EOPNOTSUPP && !fin_host_denied(r))
        return r;
    bool unseen = v->v != &v->one && syscall(inwards(c) ? SYS_preadv2 : SYS_pwritev2, -1, NULL, 0L, 0L, 0L, 0L) < 0 &&
                  fin_host_denied(-errno);
    return unseen && !are_there(v) ? -EFAULT : -EOPNOTSUPP;
}

static bool is_pipe(int fd) {
    struct stat s;
    return fstat(fd, &s) == 0 && S_ISFIFO(s.st_mode);
}

// /dev/tty, /dev/tty0 and /dev/console are names: what they stand for may have changed since this one was opened.
static bool same_terminal(int a, int b) {
    struct stat s;
    unsigned of_a, of_b;
    if (fstat(a, &s) != 0)
        return false;
    if (s.st_rdev != makedev(5, 0) && s.st_rdev != makedev(4, 0) && s.st_rdev != makedev(5, 1))
        return true;
    return ioctl(a, TIOCGDEV, &of_a) == 0 && ioctl(b, TIOCGDEV, &of_b) == 0 && of_a == of_b;
}

// A pipe or terminal has an open file more, of ours, that does not block. Not the master of a pseudo-terminal: to open that
// makes a new one. (Closed, it takes the record locks of this process with it, fcntl(2); nobody locks these that way.)
static int open_again(int fd, int how) {
    int number;
    char path[48];
    bool pipe = is_pipe(fd);
    if (!pipe && (!isatty(fd) || ioctl(fd, TIOCGPTN, &number) == 0))
        return -1;
    snprintf(path, sizeof path, "/proc/thread-self/fd/%d", fd);
    int own = open(path, how | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own < 0 || pipe || same_terminal(fd, own))
        return own;
    close(own);
    return -1;
}

// Does a write to this eventfd come nowhere near the largest sum? What others add until it is made will not, either.
static bool adds_little(int fd, const struct vectors *v) {
    char path[48], text[256];
    uint64_t value;
    if (total(v) != sizeof value || !fin_host_read(&value, v->v[0].iov_base, sizeof value) || value >> 62)
        return false;
    snprintf(path, sizeof path, "/proc/thread-self/fdinfo/%d", fd);
    int info = open(path, O_RDONLY | O_CLOEXEC);
    if (info < 0)
        return false;
    ssize_t n = read(info, text, sizeof text - 1);
    close(info);
    text[n > 0 ? n : 0] = '\0';
    const char *sum = strstr(text, "eventfd-count:");
    return sum && strtoull(sum + strlen("eventfd-count:"), NULL, 16) >> 62 == 0;
}

// One end is a pipe, which the flag of the call is enough for.
static int splice_it(const struct call *c) {
    struct call with = *c;
    int in = (int)c->file_index, other = is_pipe(in) ? c->fd : in, r;
    if (is_pipe(other))
        return fin_io_direct(c);
    int own = open_again(other, other == in ? O_RDONLY : O_WRONLY);
    if (own < 0)
        return unblocked(other, c, fin_io_direct);
    with.fd = other == in ? c->fd : own;
    with.file_index = (uint32_t)(other == in ? own : in);
    r = fin_io_direct(&with);
    close(own);
    return r;
}

// Of a pipe, terminal and the like. Where the kernel cannot do it without blocking it has to be ready; ready, it may block
// all the same, where it takes a part, or somebody else was faster.
static int of_stream(const struct call *c, const struct vectors *v) {
    bool in = inwards(c);
    struct call plain = *c;
    int flags = (int)(plain.flags &= ~(uint32_t)RWF_NOWAIT);
    int r = nowait(c, v);
    if (r != -EOPNOTSUPP)
        return r;
    int how = fcntl(c->fd, F_GETFL) & (O_ACCMODE | O_DIRECT); // which makes packets of what is written to a pipe
    if ((how & O_ACCMODE) == (in ? O_WRONLY : O_RDONLY))
        return -EBADF; // that end of a pipe never gets ready
    if (total(v) == 0) // does not block
        return fin_io_vectors(in, c->fd, v->v, (int)v->n, -1, flags);
    r = fin_io_ready_now(c->fd, in ? POLLIN : POLLOUT);
    if (r <= 0)
        return r < 0 ? r : -EAGAIN;
    if (r & (POLLHUP | POLLERR))
        return fin_io_direct(&plain);
    int own = open_again(c->fd, how);
    if (own < 0)
        return !in && adds_little(c->fd, v) ? fin_io_direct(&plain) : unblocked(c->fd, &plain, fin_io_direct);
    plain.fd = own;
    r = fin_io_direct(&plain);
    close(own);
    return r;
}

// A read of nothing waits for nothing, a receive does; of no bytes in vectors nothing is sent. Once the kernel has refused
// the flag it has seen the vectors.
static int of_socket(const struct call *c, const struct vectors *v) {
    struct msghdr m = {.msg_iov = (struct iovec *)v->v, .msg_iovlen = v->n};
    if (c->op == IORING_OP_READ)
        return fin_io_result(c->len ? recv(c->fd, v->one.iov_base, c->len, MSG_DONTWAIT) : read(c->fd, NULL, 0));
    if (c->op == IORING_OP_WRITE)
        return fin_io_result(send(c->fd, v->one.iov_base, c->len, MSG_DONTWAIT));
    int r = nowait(c, v);
    if (r != -EOPNOTSUPP)
        return r;
    if (total(v) == 0)
        return 0;
    return fin_io_result(inwards(c) ? recvmsg(c->fd, &m, MSG_DONTWAIT) : sendmsg(c->fd, &m, MSG_DONTWAIT));
}

// Who accepts from a Unix socket that is shut down, and would not wait, hears that there is nothing now, and it is ready for
// ever: it is seen after the first wait, which ends at once.
static int accept_now(const struct call *c, bool waited) {
    int r = unblocked(c->fd, c, accept_it);
    int ready = r == -EAGAIN && waited ? fin_io_ready_now(c->fd, POLLRDHUP) : 0;
    if (ready <= 0 || !(ready & POLLRDHUP))
        return r;
    r = unblocked(c->fd, c, accept_it); // what came before that
    return r == -EAGAIN ? -EINVAL : r;
}

// Those that mean something, or nothing, to what is no file; others the calls below would not see.
static bool no_such_flag(const struct call *c) {
    const uint32_t known = RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_NOWAIT | RWF_APPEND | 0x20; // RWF_NOAPPEND
    return (c->op == IORING_OP_READV || c->op == IORING_OP_WRITEV) && c->flags & ~known;
}

int fin_io_try(const struct call *c, enum fin_io_kind kind, bool waited) {
    struct vectors v;
    void *p = (void *)c->addr;
    int flags = (int)c->flags | MSG_DONTWAIT;
    switch (c->op) {
    case IORING_OP_RECV:
        return fin_io_result(recv(c->fd, p, c->len, flags));
    case IORING_OP_SEND:
        return fin_io_result(send(c->fd, p, c->len, flags));
    case IORING_OP_RECVMSG:
        return fin_io_result(recvmsg(c->fd, p, flags));
    case IORING_OP_SENDMSG:
        return fin_io_result(sendmsg(c->fd, p, flags));
    case IORING_OP_ACCEPT:
        return accept_now(c, waited);
    case IORING_OP_CONNECT:
        return unblocked(c->fd, c, connect_it);
    case IORING_OP_SPLICE:
        return splice_it(c);
    case IORING_OP_TEE: // of pipes only
        return fin_io_direct(c);
    default:
        if (no_such_flag(c))
            return -EOPNOTSUPP;
        vectors_of(c, &v);
        return kind == FIN_IO_SOCKET ? of_socket(c, &v) : of_stream(c, &v);
    }
}

enum fin_io_kind fin_io_kind_and_number(int fd, ino_t *number) {
    struct stat s;
    if (fstat(fd, &s) != 0)
        s = (struct stat){.st_mode = S_IFREG}; // the call itself says why
    *number = s.st_ino;
    if (S_ISSOCK(s.st_mode))
        return FIN_IO_SOCKET;
    return S_ISREG(s.st_mode) || S_ISBLK(s.st_mode) || S_ISDIR(s.st_mode) ? FIN_IO_FILE : FIN_IO_STREAM;
}

static bool would_block(int r) { return r == -EAGAIN || r == -EOPNOTSUPP || r == -EINTR; }

static bool transfer(struct io *io, struct call *rest, int *done) {
    struct vectors v;
    while (fin_io_is_cached(io, rest->fd)) {
        vectors_of(rest, &v);
        int r = nowait(rest, &v);
        if (would_block(r))
            return false;
        if (r <= 0) {
            *done = *done ? *done : r;
            return true;
        }
        *done += r;
        if ((uint32_t)r == rest->len)
            return true;
        rest->addr = (const char *)rest->addr + r;
        rest->len -= (uint32_t)r;
        rest->off += rest->off == UINT64_MAX ? 0 : (uint64_t)r;
    }
    return false;
}

// What was read of several buffers at a position can be read again; at the file's own position it cannot.
static bool read_vectors(struct io *io, const struct call *c, int *done) {
    struct vectors v;
    if (c->off == UINT64_MAX || !fin_io_is_cached(io, c->fd))
        return false;
    vectors_of(c, &v);
    int r = nowait(c, &v);
    if (would_block(r) || (r > 0 && (size_t)r != total(&v)))
        return false;
    *done = r;
    return true;
}

// Where all of the path is in memory.
static bool open_known(const struct call *c, int *done) {
    struct open_how how = {.flags = c->flags, .resolve = RESOLVE_CACHED};
    if (!(c->flags & O_NONBLOCK) || c->flags & (O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY)))
        return false;
    int fd = fin_io_result(syscall(SYS_openat2, c->fd, c->addr, &how, sizeof how));
    *done = fd >= 0 ? fd : 0;
    return fd >= 0;
}

bool fin_io_try_file(struct io *io, const struct call *c, struct call *rest, int *done) {
    *rest = *c;
    *done = 0;
    if (c->flags & RWF_NOWAIT && (c->op == IORING_OP_READV || c->op == IORING_OP_WRITEV)) {
        *done = fin_io_direct(c);
        if (*done == -EOPNOTSUPP && !no_such_flag(c)) // a file that cannot tell
            *done = -EAGAIN;
        return true;
    }
    switch (c->op) {
    case IORING_OP_READ:
    case IORING_OP_WRITE:
        return transfer(io, rest, done);
    case IORING_OP_READV:
        return read_vectors(io, c, done);
    case IORING_OP_OPENAT:
        return open_known(c, done);
    default:
        return false;
    }
}

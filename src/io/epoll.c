// SPDX-License-Identifier: BSD-2-Clause
// I/O where io_uring is denied: an AWE tries the call without blocking, and where that fails waits until epoll says that the
// descriptor is ready, and tries again. So a cancelled call did nothing. Regular files are always ready: they block the thread.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/io.h"

struct watch {
    struct fin_link waiters;
    uint32_t events; // that they wait for, and maybe more
};

struct ready_waiter {
    struct waiter waiter;
    struct fin_link link; // next is NULL where it waits no longer
    struct io *io;
    uint32_t events;
};

static int result_of(long r) { return r < 0 ? -errno : (int)r; }

static int watch_of(struct epoll *e, int fd, struct watch **out) {
    if (fd < 0)
        return -EBADF;
    if (fd >= e->watches) {
        int more = e->watches ? e->watches : 64;
        while (more <= fd)
            more *= 2;
        // Lists that are in use point at their head: it must not move.
        struct watch **table = realloc(e->watch, (size_t)more * sizeof *table);
        if (!table)
            return -ENOMEM;
        memset(table + e->watches, 0, (size_t)(more - e->watches) * sizeof *table);
        e->watch = table;
        e->watches = more;
    }
    struct watch *w = e->watch[fd];
    if (!w) {
        w = e->watch[fd] = malloc(sizeof *w);
        if (!w)
            return -ENOMEM;
        fin_link_init(&w->waiters);
        w->events = 0;
    }
    *out = w;
    return 0;
}

// Each report ends the registration, so each wait renews it; a descriptor may have been closed and be another file by now.
static int arm(struct io *io, int fd, struct watch *w) {
    struct epoll_event event = {.events = w->events | EPOLLONESHOT, .data.fd = fd};
    if (epoll_ctl(io->fd, EPOLL_CTL_MOD, fd, &event) == 0)
        return 0;
    if (errno != ENOENT)
        return -errno;
    return epoll_ctl(io->fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static void stop_waiting(struct ready_waiter *r, int result) {
    fin_link_remove(&r->link);
    r->link.next = NULL;
    fin_io_resume(r->io, &r->waiter, result);
}

static void cancel(void *waiter) {
    struct ready_waiter *r = waiter;
    if (r->link.next)
        stop_waiting(r, -ECANCELED);
}

// 0: it may be ready.
static int wait_ready(struct io *io, int fd, uint32_t events, bool nc) {
    struct ready_waiter r = {.io = io, .events = events};
    struct watch *w;
    int error = watch_of(&io->epoll, fd, &w);
    if (error)
        return error;
    if (!nc) {
        fin_cancel_item_add(&r.waiter.item, cancel, &r);
        if (fin_cancel_item_ran(&r.waiter.item))
            return -ECANCELED;
    }
    w->events = fin_link_empty(&w->waiters) ? events : w->events | events;
    fin_link_back(&w->waiters, &r.link);
    error = arm(io, fd, w);
    if (error == 0)
        fin_io_suspend(&r.waiter);
    else
        fin_link_remove(&r.link);
    if (!nc)
        fin_cancel_item_remove(&r.waiter.item);
    if (error == -EPERM) // a file that is always ready, and for nothing else
        return events & (EPOLLIN | EPOLLOUT) ? 0 : -EINVAL;
    if (error)
        return error;
    return r.waiter.result;
}

// Those that wait for it try again.
static void ready(struct io *io, int fd, uint32_t events) {
    struct watch *w = fd < io->epoll.watches ? io->epoll.watch[fd] : NULL;
    uint32_t left = 0;
    if (!w)
        return;
    for (struct fin_link *l = w->waiters.next, *next; l != &w->waiters; l = next) {
        struct ready_waiter *r = FIN_OF(struct ready_waiter, link, l);
        next = l->next;
        if (events & (r->events | EPOLLERR | EPOLLHUP))
            stop_waiting(r, 0);
        else
            left |= r->events;
    }
    w->events = left;
    if (!fin_link_empty(&w->waiters))
        arm(io, fd, w);
}

static void handle(struct io *io) {
    struct epoll_event events[64];
    int n;
    do {
        n = epoll_wait(io->fd, events, 64, 0);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == io->wake_fd) {
                eventfd_t value;
                eventfd_read(io->wake_fd, &value);
                fin_io_woken(io);
            } else {
                ready(io, events[i].data.fd, events[i].events);
            }
        }
    } while (n == 64);
}

// epoll_wait knows milliseconds only.
static void poll_events(struct io *io, int64_t ns) {
    if (ns != 0) {
        struct pollfd p = {.fd = io->fd, .events = POLLIN};
        struct timespec t = {.tv_sec = ns / (int64_t)FIN_S, .tv_nsec = ns % (int64_t)FIN_S};
        if (ppoll(&p, 1, ns < 0 ? NULL : &t, NULL) < 0 && errno != EINTR)
            fin_host_die("an epoll no longer works: the program has closed a descriptor that is not its own");
    }
    handle(io);
}

// Calls that have no flag for it are made on a descriptor that does not block for the moment. The flag belongs to the open
// file, which other threads may use the same way.
static pthread_mutex_t unblocking = PTHREAD_MUTEX_INITIALIZER;

static int unblocked(const struct call *c) {
    socklen_t *size = (socklen_t *)(uintptr_t)c->off;
    pthread_mutex_lock(&unblocking);
    int flags = fcntl(c->fd, F_GETFL), r;
    if (flags < 0) {
        r = -errno;
    } else {
        fcntl(c->fd, F_SETFL, flags | O_NONBLOCK);
        if (c->op == IORING_OP_ACCEPT)
            r = result_of(accept4(c->fd, (struct sockaddr *)c->addr, size, (int)c->flags));
        else
            r = result_of(connect(c->fd, c->addr, (socklen_t)c->off));
        if (!(flags & O_NONBLOCK))
            fcntl(c->fd, F_SETFL, flags);
    }
    pthread_mutex_unlock(&unblocking);
    return r;
}

static int ready_now(int fd, int events) {
    struct pollfd p = {.fd = fd, .events = (short)events};
    int r = poll(&p, 1, 0);
    return fd < 0 ? -EBADF : r < 0 ? -errno : p.revents & POLLNVAL ? -EBADF : p.revents;
}

// Of a pipe, terminal and the like. Where the kernel cannot do it without blocking it has to be ready; a pipe that is ready
// takes this much without blocking.
static int transfer(const struct call *c) {
    bool in = c->op == IORING_OP_READ;
    struct iovec v = {(void *)c->addr, c->len};
    int r = result_of(in ? preadv2(c->fd, &v, 1, -1, RWF_NOWAIT) : pwritev2(c->fd, &v, 1, -1, RWF_NOWAIT));
    if (r != -EOPNOTSUPP)
        return r;
    if ((fcntl(c->fd, F_GETFL) & O_ACCMODE) == (in ? O_WRONLY : O_RDONLY))
        return -EBADF; // that end of a pipe never gets ready
    r = ready_now(c->fd, in ? POLLIN : POLLOUT);
    if (r <= 0)
        return r < 0 ? r : -EAGAIN;
    size_t n = c->len < PIPE_BUF ? c->len : PIPE_BUF;
    return result_of(in ? read(c->fd, v.iov_base, c->len) : write(c->fd, v.iov_base, n));
}

enum kind { FILE_KIND, SOCKET_KIND, STREAM_KIND };

static int attempt(const struct call *c, enum kind kind) {
    void *p = (void *)c->addr;
    int flags = (int)c->flags | MSG_DONTWAIT;
    switch (c->op) {
    case IORING_OP_READ:
        return kind == SOCKET_KIND ? result_of(recv(c->fd, p, c->len, flags)) : transfer(c);
    case IORING_OP_WRITE:
        return kind == SOCKET_KIND ? result_of(send(c->fd, p, c->len, flags)) : transfer(c);
    case IORING_OP_RECV:
        return result_of(recv(c->fd, p, c->len, flags));
    case IORING_OP_SEND:
        return result_of(send(c->fd, p, c->len, flags));
    case IORING_OP_ACCEPT: {
        int r = ready_now(c->fd, POLLIN);
        return r < 0 ? r : unblocked(c);
    }
    default: {
        int r = ready_now(c->fd, (int)c->flags);
        return r ? r : -EAGAIN;
    }
    }
}

// Those that cannot be had without blocking.
static int direct(const struct call *c) {
    void *p = (void *)c->addr;
    switch (c->op) {
    case IORING_OP_READ:
        return result_of(c->off == UINT64_MAX ? read(c->fd, p, c->len) : pread(c->fd, p, c->len, (off_t)c->off));
    case IORING_OP_WRITE:
        return result_of(c->off == UINT64_MAX ? write(c->fd, p, c->len) : pwrite(c->fd, p, c->len, (off_t)c->off));
    case IORING_OP_OPENAT:
        return result_of(openat(c->fd, p, (int)c->flags, (mode_t)c->len));
    case IORING_OP_FSYNC:
        return result_of(fsync(c->fd));
    default:
        return result_of(statx(c->fd, p, (int)c->flags, c->len, (struct statx *)(uintptr_t)c->off));
    }
}

// Those that wait for the descriptor would wait for ever: epoll has forgotten it.
static int close_it(struct io *io, int fd) {
    int r = result_of(close(fd));
    if (fd >= 0)
        ready(io, fd, EPOLLERR);
    return r == -EINTR ? 0 : r;
}

static int connect_it(struct io *io, const struct call *c) {
    int r = unblocked(c);
    if (r != -EINPROGRESS)
        return r;
    r = wait_ready(io, c->fd, EPOLLOUT, c->nc);
    if (r != 0)
        return r == -ECANCELED ? fin_io_connect_ended(c->fd) : r;
    socklen_t size = sizeof r;
    return getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &r, &size) == 0 ? -r : -errno;
}

static enum kind kind_of(const struct call *c) {
    struct stat s;
    if (c->op == IORING_OP_OPENAT || c->op == IORING_OP_FSYNC || c->op == IORING_OP_STATX)
        return FILE_KIND;
    if (c->op != IORING_OP_READ && c->op != IORING_OP_WRITE)
        return STREAM_KIND;
    if (c->off != UINT64_MAX || fstat(c->fd, &s) != 0)
        return FILE_KIND;
    if (S_ISSOCK(s.st_mode))
        return SOCKET_KIND;
    return S_ISREG(s.st_mode) || S_ISBLK(s.st_mode) || S_ISDIR(s.st_mode) ? FILE_KIND : STREAM_KIND;
}

static int run(struct io *io, const struct call *c) {
    if (!c->nc && fin_cancelled())
        return -ECANCELED;
    if (c->op == IORING_OP_CLOSE)
        return close_it(io, c->fd);
    if (c->op == IORING_OP_CONNECT)
        return connect_it(io, c);
    enum kind kind = kind_of(c);
    uint32_t events = fin_io_events(c);
    for (;;) {
        int r = kind == FILE_KIND ? direct(c) : attempt(c, kind);
        if (r == -EINTR)
            continue; // by a signal: its handler has run
        if (kind == FILE_KIND || r != -EAGAIN || events == 0)
            return r;
        r = wait_ready(io, c->fd, events, c->nc);
        if (r != 0)
            return r;
    }
}

static void close_epoll(struct io *io) {
    int fd = io->fd;
    io->fd = -1;
    close(fd);
}

static int begin(struct io *io) {
    struct epoll *e = &io->epoll;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = io->wake_fd};
    memset(e, 0, sizeof *e);
    io->fd = epoll_create1(EPOLL_CLOEXEC);
    if (io->fd < 0)
        return -errno;
    if (epoll_ctl(io->fd, EPOLL_CTL_ADD, io->wake_fd, &event) == 0)
        return 0;
    int error = -errno;
    close_epoll(io);
    return error;
}

static void end(struct io *io) {
    struct epoll *e = &io->epoll;
    for (int i = 0; i < e->watches; i++)
        free(e->watch[i]);
    free(e->watch);
    close_epoll(io);
}

const struct backend fin_io_epoll = {.begin = begin, .end = end, .poll = poll_events, .run = run};

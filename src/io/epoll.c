// SPDX-License-Identifier: BSD-2-Clause
// I/O where io_uring is denied: an AWE tries the call without blocking, and where that fails waits until epoll says that the
// descriptor is ready, and tries again. So a cancelled call did nothing. Files are always ready, and block: what the page
// cache does not have is done by the thread pool.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "io/io.h"

// Those who only look are all told what happens. Of those who take what is there (a connection, data) the first one is told:
// what he leaves is told again, to the next, and many who wait cost no more than one.
struct watch {
    struct fin_link lookers, takers;
    uint32_t events; // that they wait for, and maybe more
};

static bool nobody_waits(const struct watch *w) { return fin_link_empty(&w->lookers) && fin_link_empty(&w->takers); }

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
        fin_link_init(&w->lookers);
        fin_link_init(&w->takers);
        w->events = 0;
    }
    *out = w;
    return 0;
}

// Each report ends the registration, so each wait renews it; a descriptor may have been closed and be another file by now.
static int arm(struct io *io, int fd, struct watch *w) {
    struct epoll_event event = {.events = w->events | EPOLLONESHOT, .data.fd = fd};
    if (FIN_UNLIKELY(io->parents))
        return 0;
    if (epoll_ctl(io->fd, EPOLL_CTL_MOD, fd, &event) == 0)
        return 0;
    if (errno != ENOENT)
        return -errno;
    return epoll_ctl(io->fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

int fin_io_epoll_for(int fd, uint32_t events) {
    struct epoll_event event = {.events = events};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int error = epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0 ? -errno : 0;
    if (error && epoll >= 0)
        close(epoll);
    return error ? error : epoll;
}

static void stop_waiting(struct ready_waiter *r, int result) {
    fin_link_remove(&r->link);
    r->link.next = NULL;
    fin_io_resume(r->io, &r->waiter, result);
}

void fin_epoll_cancel(void *waiter) {
    struct ready_waiter *r = waiter;
    if (r->link.next)
        stop_waiting(r, -ECANCELED);
}

// epoll refuses a file that is always ready with EPERM, as a filter may refuse the call of any: then a pipe or a socket is
// not ready for both.
static int always_ready(int fd) {
    const int both = POLLIN | POLLOUT;
    int r = fin_io_ready_now(fd, both);
    return r < 0 ? r : (r & both) == both ? 1 : -EPERM;
}

int fin_epoll_watch(struct ready_waiter *r, int fd) {
    struct watch *w;
    int error = watch_of(&r->io->epoll, fd, &w);
    if (error)
        return error;
    w->events = nobody_waits(w) ? r->events : w->events | r->events;
    fin_link_back(r->looks ? &w->lookers : &w->takers, &r->link);
    error = arm(r->io, fd, w);
    if (error) {
        fin_link_remove(&r->link);
        r->link.next = NULL;
    }
    return error == -EPERM ? always_ready(fd) : error;
}

static FIN_BLOCKING int wait_once(struct ready_waiter *r, int fd) {
    int error = fin_epoll_watch(r, fd);
    if (error == 0)
        fin_io_suspend(&r->waiter);
    return error;
}

// 0: it may be ready. In the child of a fork what was is the parent's.
static FIN_BLOCKING int wait_ready(struct io *io, int fd, uint32_t events, bool looks, bool nc) {
    struct ready_waiter r = {.io = io, .events = events, .looks = looks};
    if (!nc) {
        fin_cancel_add(&r.waiter.item, fin_epoll_cancel, &r);
        if (fin_cancel_item_ran(&r.waiter.item))
            return -ECANCELED;
    }
    int error = wait_once(&r, fd);
    while (error == 0 && FIN_UNLIKELY(io->parents) && r.waiter.result == 0) {
        if (!nc && fin_cancel_item_ran(&r.waiter.item))
            r.waiter.result = -ECANCELED;
        else
            error = wait_once(&r, fd);
    }
    if (!nc)
        fin_cancel_remove(&r.waiter.item);
    if (error > 0)
        return events & (EPOLLIN | EPOLLOUT) ? 0 : -EINVAL;
    return error ? error : r.waiter.result;
}

static uint32_t events_of(const struct fin_link *waiters) {
    uint32_t events = 0;
    for (struct fin_link *l = waiters->next; l != waiters; l = l->next)
        events |= FIN_OF(struct ready_waiter, link, l)->events;
    return events;
}

// Those that wait for one of these try again, or, of each, the first. One without a stack does so here, and may be back at
// the end of the list. Was there any?
static bool wake(struct fin_link *waiters, uint32_t events, bool all) {
    bool any = false, more = !fin_link_empty(waiters);
    for (struct fin_link *l = waiters->next, *last = waiters->prev, *next; more; l = next) {
        struct ready_waiter *r = FIN_OF(struct ready_waiter, link, l);
        uint32_t its = r->events | EPOLLERR | EPOLLHUP;
        next = l->next;
        more = l != last;
        if (!(events & its))
            continue;
        any = true;
        events &= all ? events : ~its;
        more = more && events;
        stop_waiting(r, 0);
    }
    return any;
}

static void stop_all(struct watch *w, int result) {
    while (!nobody_waits(w)) {
        struct fin_link *waiters = fin_link_empty(&w->lookers) ? &w->takers : &w->lookers;
        stop_waiting(FIN_OF(struct ready_waiter, link, waiters->next), result);
    }
}

static void ready(struct io *io, int fd, uint32_t events) {
    struct watch *w = fd < io->epoll.watches ? io->epoll.watch[fd] : NULL;
    if (!w)
        return;
    bool any = wake(&w->lookers, events, true);
    any |= wake(&w->takers, events, events & (EPOLLERR | EPOLLHUP));
    if (nobody_waits(w))
        return;
    if (!any) // what was more; it may be none, of who waits for the end
        w->events = events_of(&w->lookers) | events_of(&w->takers);
    int error = arm(io, fd, w);
    if (error)
        stop_all(w, error); // nobody would tell them anything
}

#define CLOSED "an epoll no longer works: the program has closed a descriptor that is not its own"

// What the kernel itself says of a descriptor that is no epoll; the rest is for others to say.
static _Noreturn void die_of(int error) {
    if (error == EBADF || error == EINVAL)
        fin_host_die(CLOSED);
    fin_host_die_of("epoll_wait(2) fails in a thread that has used it", error,
               ". A seccomp filter that denies it has to come before the thread's first I/O, which then says so");
}

static void handle(struct io *io, int ms) {
    struct epoll_event events[64];
    int n;
    do {
        n = epoll_wait(io->fd, events, 64, ms);
        ms = 0;
        if (n < 0 && errno != EINTR)
            die_of(errno);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == io->wake_fd) {
                eventfd_t value;
                eventfd_read(io->wake_fd, &value);
                fin_io_woken(io);
            } else if (events[i].data.fd == io->embed.timer) {
                fin_embed_timed(io);
            } else {
                ready(io, events[i].data.fd, events[i].events);
            }
        }
    } while (n == 64);
}

// epoll_wait knows milliseconds only; poll does not know of any descriptor where a process may have no more, or is denied.
static void poll_events(struct io *io, int64_t ns) {
    int ms = 0;
    if (ns != 0) {
        struct pollfd p = {.fd = io->fd, .events = POLLIN};
        struct timespec t = {.tv_sec = ns / (int64_t)FIN_S, .tv_nsec = ns % (int64_t)FIN_S};
        int r = ppoll(&p, 1, ns < 0 ? NULL : &t, NULL);
        if (p.revents & POLLNVAL)
            die_of(EBADF);
        if (r < 0 && errno != EINTR && errno != ENOMEM)
            ms = ns < 0 ? -1 : ns < INT32_MAX ? (int)(ns / (int64_t)FIN_MS) + 1 : INT32_MAX / (int)FIN_MS;
    }
    handle(io, ms);
}

// What waited for the descriptor must not take another file for it that gets the same number.
static int close_it(struct io *io, int fd) {
    int r = fin_close_at_once(fd);
    struct watch *w = fd >= 0 && fd < io->epoll.watches ? io->epoll.watch[fd] : NULL;
    if (w)
        stop_all(w, -EBADF);
    return r;
}

// The second call ends what the first began: it says how that went, and leaves the socket as one that waited would.
static FIN_BLOCKING int connect_it(struct io *io, const struct call *c) {
    int r = fin_io_try(c, FIN_IO_SOCKET, false);
    if (r != -EINPROGRESS)
        return r;
    do {
        r = wait_ready(io, c->fd, EPOLLOUT, false, c->nc);
        if (r != 0)
            return r == -ECANCELED ? fin_io_connect_ended(io, c) : r;
        r = fin_io_closed(c) ? -EBADF : fin_io_try(c, FIN_IO_SOCKET, true);
    } while (r == -EALREADY || r == -EINPROGRESS);
    return r == -EISCONN ? 0 : r;
}

static FIN_BLOCKING int poll_it(struct io *io, const struct call *c) {
    for (;;) {
        int r = fin_io_ready_now(c->fd, (int)c->flags);
        if (r != 0)
            return r;
        r = wait_ready(io, c->fd, c->flags, true, c->nc);
        if (r != 0)
            return r;
        if (fin_io_closed(c))
            return -EBADF;
    }
}

// No event ends what is ready and would block all the same: a sum that an eventfd has no room for, a datagram to who is
// full.
static FIN_BLOCKING int try_and_wait(struct io *io, const struct call *c, enum fin_io_kind kind) {
    uint32_t events = fin_io_events(c);
    for (bool again = false;; again = true) {
        int r = fin_io_try(c, kind, again);
        if (r == -EINTR)
            continue; // by a signal: its handler has run
        if (r != -EAGAIN || events == 0)
            return r;
        if (again && fin_io_ready_now(c->fd, (int)events) != 0) // or it cannot be asked
            r = fin_io_pause(c->nc);
        else
            r = wait_ready(io, c->fd, events, false, c->nc);
        if (r != 0)
            return r;
        if (fin_io_closed(c))
            return -EBADF;
    }
}

static FIN_BLOCKING int run(struct io *io, const struct call *c) {
    enum fin_io_kind kind;
    ino_t file;
    if (!c->nc && fin_cancelled())
        return -ECANCELED;
    switch (c->op) {
    case IORING_OP_CLOSE:
        return close_it(io, c->fd);
    case IORING_OP_SHUTDOWN:
        return fin_io_direct(c);
    case IORING_OP_CONNECT:
        return connect_it(io, c);
    case IORING_OP_POLL_ADD:
        return poll_it(io, c);
    case IORING_OP_SPLICE:
    case IORING_OP_TEE:
        return fin_io_splice(io, c, fin_io_splices_file(c));
    case IORING_OP_READ:
    case IORING_OP_WRITE:
    case IORING_OP_READV:
    case IORING_OP_WRITEV:
        if (c->off != UINT64_MAX)
            return fin_io_file(io, c);
        kind = fin_io_kind_and_number(c->fd, &file);
        return kind == FIN_IO_FILE ? fin_io_file_here(io, c, file) : try_and_wait(io, c, kind);
    case IORING_OP_RECV:
    case IORING_OP_SEND:
    case IORING_OP_RECVMSG:
    case IORING_OP_SENDMSG:
    case IORING_OP_ACCEPT:
        return try_and_wait(io, c, FIN_IO_SOCKET);
    default:
        return fin_io_file(io, c);
    }
}

static void close_epoll(struct io *io) {
    int fd = io->fd;
    io->fd = -1;
    close(fd);
}

// Each may be denied by itself.
static int look_for_calls(struct io *io) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = io->wake_fd};
    io->lacks = "epoll_ctl(2)";
    if (epoll_ctl(io->fd, EPOLL_CTL_ADD, io->wake_fd, &event) != 0)
        return -errno;
    io->lacks = "epoll_wait(2)";
    return epoll_wait(io->fd, &event, 1, 0) >= 0 || errno == EINTR ? 0 : -errno;
}

static int begin(struct io *io) {
    struct epoll *e = &io->epoll;
    memset(e, 0, sizeof *e);
    io->lacks = "epoll_create1(2)";
    io->fd = epoll_create1(EPOLL_CLOEXEC);
    if (io->fd < 0)
        return -errno;
    int error = look_for_calls(io);
    if (error)
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

static bool expects(const struct io *io) {
    for (int fd = 0; fd < io->epoll.watches; fd++)
        if (io->epoll.watch[fd] && !nobody_waits(io->epoll.watch[fd]))
            return true;
    return false;
}

const struct backend fin_io_epoll = {.expects = expects, .begin = begin, .end = end, .poll = poll_events, .run = run};

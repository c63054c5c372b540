// SPDX-License-Identifier: BSD-2-Clause
// The I/O of a thread: made at its first call, given back when the thread ends; its place to sleep meanwhile.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "forks.h"
#include "io/message.h"
#include "io/reap.h"
#include "io/uring.h"

static struct io *ios; // all that ever existed
static const struct fin_runtime *embeds; // in the child of a fork: where the parent did (embed.c)

// The threads that have a runtime one after the other have the same.
static struct io *io_of(struct fin_runtime *rt) {
    if (rt->kept)
        return (struct io *)rt->kept;
    struct io *io = aligned_alloc(_Alignof(struct io), sizeof *io);
    if (!io)
        return NULL;
    memset(io, 0, sizeof *io);
    io->rt = rt;
    io->wake_fd = io->fd = io->embed.timer = -1;
    io->woken = 1; // until it has a wake_fd, who wakes all writes nothing
    rt->kept = &io->poller;
    io->next = __atomic_load_n(&ios, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&ios, &io->next, io, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return io;
}

static void look(struct fin_poller *p, bool wait) {
    struct io *io = (struct io *)p;
    int64_t ns = 0;
    if (wait) {
        ns = -1;
        if (FIN_UNLIKELY(fin_host_stuck))
            io->rt->expects = fin_timers_first(io) || io->backend->expects(io) ? FIN_EXPECTS_MORE
                              : !fin_link_empty(&io->awaited)                  ? FIN_EXPECTS_POOL
                                                                               : FIN_EXPECTS_NOTHING;
        struct fin_timer *first = fin_timers_first(io);
        if (first) {
            uint64_t now = fin_now(), due = first->due, most = due - now + io->slack;
            ns = due <= now ? 0 : most < io->slack || most > INT64_MAX ? INT64_MAX : (int64_t)most;
        }
    }
    io->backend->poll(io, ns);
    fin_timers_run(io);
}

static void write_wake(int fd) {
    if (eventfd_write(fd, 1) == 0)
        return;
    if (errno == EBADF)
        fin_host_die("a thread cannot be woken: the program has closed a descriptor that is not its own");
    fin_host_die_of("a thread cannot be woken, as write(2) to its eventfd fails", errno, ", as where a filter denies it");
}

// One write for many wakers. The flag is taken down by the reader after it read, and the inbox is looked at after that.
// (models/sleep.pml)
static void wake(struct fin_poller *p) {
    struct io *io = (struct io *)p;
    if (__atomic_exchange_n(&io->woken, 1, __ATOMIC_SEQ_CST) == 0 && !io->parents)
        write_wake(io->wake_fd);
}

void fin_io_wake(struct io *io) { wake(&io->poller); }

void fin_io_wake_others(const struct io *here) {
    for (struct io *io = __atomic_load_n(&ios, __ATOMIC_ACQUIRE); io; io = io->next)
        if (io != here)
            fin_io_wake(io);
}

void fin_io_woken(struct io *io) { __atomic_store_n(&io->woken, 0, __ATOMIC_SEQ_CST); }

// From here on a late waker finds the flag up, and writes nothing. Who has put it up before does, maybe in a moment: the
// read waits for that, and comes behind all writes. The child of a fork closes what it finds here: no number that is another
// file's by then. (models/late.pml)
static void close_wake(struct io *io) {
    const int fd = io->wake_fd;
    eventfd_t value;
    if (__atomic_exchange_n(&io->woken, 1, __ATOMIC_SEQ_CST) == 0)
        write_wake(fd);
    while (eventfd_read(fd, &value) != 0 && errno == EINTR) {
    }
    io->wake_fd = -1;
    close(fd);
}

uint32_t fin_hold(struct held *h, int fd) {
    if (h->free == h->room) {
        uint32_t more = h->room ? 2 * h->room : 64;
        int *place = realloc(h->place, more * sizeof *place);
        if (!place)
            return UINT32_MAX;
        for (uint32_t i = h->room; i < more; i++)
            place[i] = ~(int)(i + 1);
        h->place = place;
        h->room = more;
    }
    uint32_t i = h->free;
    h->free = (uint32_t)~h->place[i];
    h->place[i] = fd;
    return i;
}

void fin_take(struct held *h, uint32_t i) {
    if (i == UINT32_MAX)
        return;
    h->place[i] = ~(int)h->free;
    h->free = i;
}

static void close_held(struct held *h) {
    for (uint32_t i = 0; i < h->room; i++)
        if (h->place[i] >= 0)
            close(h->place[i]);
    free(h->place);
    *h = (struct held){0};
}

static void close_lost(int fd) { close(fd); }

static void end(struct fin_poller *p) {
    struct io *io = (struct io *)p;
    io->ending = true;
    fin_embed_end(io);
    fin_io_offload_end(io);
    io->backend->end(io);
    while (!fin_link_empty(&io->owned)) {
        struct owned *o = FIN_OF(struct owned, link, io->owned.next);
        o->lost(o);
    }
    fin_messages_end(io);
    close_held(&io->held);
    close_held(&io->opened);
    fin_cont_lost(io->rt, close_lost);
    free(io->files);
    io->files = NULL;
    close_wake(io);
}

// The value of kernel.io_uring_disabled, or 0 where there is none: Linux 6.6.
static char disabled(void) {
    char value = '0';
    int fd = open("/proc/sys/kernel/io_uring_disabled", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return value;
    if (read(fd, &value, 1) != 1)
        value = '0';
    close(fd);
    return value;
}

static const char *why_not(int error) {
    switch (error) {
    case -EPERM:
    case -EACCES:
        switch (disabled()) {
        case '1':
            return "epoll, because io_uring is denied: kernel.io_uring_disabled=1 allows it to the members of "
                   "kernel.io_uring_group and to those with CAP_SYS_ADMIN";
        case '2':
            return "epoll, because io_uring is denied: kernel.io_uring_disabled=2 allows it to nobody";
        default:
            return "epoll, because io_uring is denied: by a seccomp filter, which most containers have, or a security "
                   "module";
        }
    case -ENOSYS:
        return "epoll, because the system has no io_uring, or a seccomp filter hides it";
    case -ENOMEM:
        return "epoll, because there is no memory for an io_uring: is RLIMIT_MEMLOCK low (ulimit -l), or that of the "
               "cgroup?";
    case -EINVAL:
    case -EOPNOTSUPP:
        return "epoll, because this io_uring is older than that of Linux 5.15";
    default:
        return "epoll, because an io_uring cannot be had, for a reason that is not known";
    }
}

static const char *how(int error) { return fin_host_denied(error) ? "is denied, as by a seccomp filter" : "fails"; }

// Once there was one.
static const char *why_in_vain(struct io *io, int error) {
    snprintf(io->features, sizeof io->features, "epoll, because an io_uring is of no use: %s %s: %s", io->lacks, how(error),
             strerror(-error));
    return io->features;
}

static int choose(struct io *io, bool embedded) {
    const char *want = getenv("FIN_IO");
    io->small = want && strcmp(want, "small") == 0;
    int error;
    if (embedded) {
        io->name = "epoll, because the thread's loop is not Fin's (fin/embed.h)";
    } else if (want && strcmp(want, "epoll") == 0) {
        io->name = "epoll, because of FIN_IO=epoll";
    } else {
        io->backend = &fin_io_uring;
        error = io->backend->begin(io);
        if (error == 0 || ((error == -EMFILE || error == -ENFILE) && !io->lacks))
            return error;
        io->name = io->lacks ? why_in_vain(io, error) : why_not(error);
    }
    io->backend = &fin_io_epoll;
    return io->backend->begin(io);
}

static struct io *of_parents; // what a process has from before its fork: frames on its stack name it

// The child of a fork has copies of descriptors that stay its parent's business. It begins anew with its next call, or
// at once where it is in a block that ends in time.
static void forget_parent(void) {
    fin_try_forked();
    fin_reaper_forked();
    fin_position_forked();
    struct io *here = fin_self ? (struct io *)fin_rt(fin_self)->poller : NULL;
    if (here && here->embed.timer >= 0)
        embeds = here->rt;
    if (here)
        fin_rt(fin_self)->poller = NULL;
    while (ios) {
        struct io *io = ios;
        if (io->backend == &fin_io_uring && io->fd >= 0)
            fin_uring_forked(io);
        close(io->wake_fd);
        close(io->fd);
        fin_embed_end(io);
        io->parents = true;
        io->rt->kept = NULL;
        ios = io->next;
        io->next = of_parents;
        of_parents = io;
    }
    fin_offload_forked(here);
    if (here && here->backend == &fin_io_uring)
        fin_uring_cancelled_in_child(here);
    if (here)
        fin_timers_forked(here);
}

int fin_io_stay(bool nc) { return nc ? fin_sleep_until_nc(UINT64_MAX) : fin_sleep_until(UINT64_MAX); }

int fin_io_watch_forks(void) {
    static bool watched;
    return fin_watch_forks(&watched, forget_parent);
}

static int begin(struct fin_runtime *rt, bool embedded) {
    int error = fin_io_watch_forks();
    struct io *io = error ? NULL : io_of(rt);
    if (!io)
        return -ENOMEM;
    io->lacks = "eventfd2(2)";
    io->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (io->wake_fd < 0)
        return -errno;
    if (!io->poller.wake) // once: a late waker of the thread that had it before may be reading
        io->poller = (struct fin_poller){.poll = look, .wake = wake, .end = end, .left = fin_timed_left};
    fin_io_woken(io); // a late waker writes from here on, which is an event too many
    io->timers = (struct timers){0};
    io->slack = 0;
    io->ending = false;
    io->can = (struct can){0};
    fin_link_init(&io->owned);
    fin_link_init(&io->chains);
    fin_link_init(&io->accepts);
    fin_link_init(&io->jobs);
    fin_link_init(&io->awaited);
    error = choose(io, embedded || rt == embeds);
    if (error != 0) {
        close_wake(io);
        return error;
    }
    io->lacks = NULL;
    // A waker that finds no poller has pushed before this thread's next look at the inbox, which comes before it sleeps:
    // see fin_find_work. release: it finds the rest, too.
    __atomic_store_n(&rt->poller, &io->poller, __ATOMIC_RELEASE);
    return 0;
}

int fin_io_begin(struct io **io) {
    struct fin_runtime *rt = fin_here();
    int error = rt->poller ? 0 : begin(rt, false);
    *io = (struct io *)rt->poller;
    return error;
}

int fin_io_begin_epoll(struct io **io) {
    struct fin_runtime *rt = fin_here();
    int error = rt->poller ? 0 : begin(rt, true);
    *io = (struct io *)rt->poller;
    return error || (*io)->backend == &fin_io_epoll ? error : -EBUSY;
}

void fin_owned_add(struct owned *o, struct io *io, void (*lost)(struct owned *)) {
    o->io = io;
    o->lost = lost;
    fin_link_back(&io->owned, &o->link);
}

void fin_owned_remove(struct owned *o) { fin_link_remove(&o->link); }

bool fin_io_is_here(const struct io *io) { return fin_self && fin_rt(fin_self)->poller == &io->poller; }
bool fin_owned_here(const struct owned *o) { return fin_io_is_here(o->io); }

const char *fin_io_backend(void) {
    struct io *io;
    int error = fin_io_here(&io);
    if (error == 0)
        return io->name;
    io = (struct io *)fin_here()->kept;
    if (!io || !io->lacks)
        return strerror(-error);
    snprintf(io->features, sizeof io->features, "none, because %s %s: %s", io->lacks, how(error), strerror(-error));
    return io->features;
}

// Without MSG_DONTWAIT, RWF_NOWAIT and the like.
static uint32_t unless(bool not_to_wait, uint32_t events) { return not_to_wait ? 0 : events; }

static uint32_t of_socket(const struct call *c, uint32_t events) {
    return unless(c->flags & MSG_DONTWAIT, c->flags & MSG_ERRQUEUE ? POLLERR : events);
}

uint32_t fin_io_events(const struct call *c) {
    switch (c->op) {
    case IORING_OP_READ:
    case IORING_OP_READV:
    case IORING_OP_READ_FIXED:
        return unless(c->flags & RWF_NOWAIT, POLLIN);
    case IORING_OP_WRITE:
    case IORING_OP_WRITEV:
    case IORING_OP_WRITE_FIXED:
        return unless(c->flags & RWF_NOWAIT, POLLOUT);
    case IORING_OP_RECV:
    case IORING_OP_RECVMSG:
        return of_socket(c, POLLIN);
    case IORING_OP_SEND:
    case IORING_OP_SENDMSG:
    case IORING_OP_SEND_ZC:
    case IORING_OP_SENDMSG_ZC:
        return of_socket(c, POLLOUT);
    case IORING_OP_ACCEPT:
        return POLLIN;
    default:
        return 0;
    }
}

// The kernel goes on connecting when the wait for it is cancelled: not so that the child of a fork may have its parent's
// connection, which that one waits for. Of a socket that is closed the number may be another's.
int fin_io_connect_ended(const struct io *io, const struct call *c) {
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    if (!fin_io_is_here(io) || fin_io_closed(c))
        return -ECANCELED;
    if (getpeername(c->fd, (struct sockaddr *)&peer, &size) == 0)
        return 0;
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    connect(c->fd, &none, sizeof none);
    return -ECANCELED;
}

// The kernel tidies up after a connect that waited in it, not after one that was asked about later: a TCP socket would be
// neither new nor connected, and say ECONNABORTED to the next connect.
int fin_io_connect_failed(const struct io *io, const struct call *c, int error) {
    int type = 0;
    socklen_t size = sizeof type;
    if (error == -ECONNREFUSED || error == -ETIMEDOUT || error == -EHOSTUNREACH || error == -ENETUNREACH ||
        error == -ECONNRESET || error == -ECONNABORTED || error == -EHOSTDOWN)
        if (getsockopt(c->fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM)
            fin_io_connect_ended(io, c);
    return error;
}

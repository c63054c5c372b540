// SPDX-License-Identifier: BSD-2-Clause
// Acceptors: a multishot request whose connections wait in a queue until they are taken, or AWEs that wait in a queue for
// connections. Cancelling one of these touches the queue only. Before Linux 5.19 it is a request for one connection, and the
// next when that has come: of several that wait for one listener the kernel serves the last. On epoll each AWE accepts for
// itself.
#include <fin/on.h>
#include <fin/stream.h>

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/fixed.h"
#include "io/uring.h"

enum { ENOUGH = 256 }; // connections that wait; more stay in the backlog
enum { LONGEST_PAUSE = 7 };

struct fin_acceptor {
    struct shot shot; // first
    struct owned owned;
    int fd, flags;
    uint64_t since; // struct call's
    int *queue;
    unsigned first, count, room; // room is a power of two
    struct fin_link takers;
    uint64_t not_before; // after a lack of descriptors
    unsigned pauses, inside;
    int error; // that ended the request while nobody waited
    uint16_t multishot; // of the entry
    bool ring, polls, stopped; // polls: the kernel would not wait for a connection on a listener in non-blocking mode (5.15)
};

struct taker {
    struct waiter waiter;
    struct fin_link link; // next is NULL where it waits no longer
    struct io *io;
    uint32_t held;
};

static void give(struct taker *t, int result) {
    if (result >= 0)
        t->held = fin_io_hold(t->io, result);
    fin_link_remove(&t->link);
    t->link.next = NULL;
    fin_io_resume(t->io, &t->waiter, result);
}

static bool grow(struct fin_acceptor *a) {
    unsigned room = a->room ? 2 * a->room : 16;
    int *queue = malloc(room * sizeof *queue);
    if (!queue)
        return false;
    for (unsigned i = 0; i < a->count; i++)
        queue[i] = a->queue[(a->first + i) & (a->room - 1)];
    free(a->queue);
    a->queue = queue;
    a->room = room;
    a->first = 0;
    return true;
}

// Without memory to remember it the connection is closed: its peer is told, and nobody waits for it.
static void keep(struct fin_acceptor *a, int fd) {
    if (a->count == a->room && !grow(a)) {
        close(fd);
        return;
    }
    a->queue[(a->first + a->count++) & (a->room - 1)] = fd;
}

static int take(struct fin_acceptor *a) {
    int fd = a->queue[a->first];
    a->first = (a->first + 1) & (a->room - 1);
    a->count--;
    return fd;
}

// The request has ended, and who waits for the listener elsewhere may not have been told what it was told.
static int last(const struct fin_acceptor *a, int result) {
    const struct call c = {.op = IORING_OP_ACCEPT, .fd = a->fd, .flags = (uint32_t)a->flags, .since = a->since};
    if (result == -ECANCELED)
        return fin_accept_cancelled(a->owned.io, &c);
    if (a->shot.request.cancelled || a->multishot) // another one ends when it has been told of one
        fin_accept_more(a->owned.io, &c);
    return result;
}

static void got(struct shot *s, int result, uint32_t flags) {
    struct fin_acceptor *a = (struct fin_acceptor *)s;
    bool polled = a->polls && result != -ECANCELED;
    if (!(flags & IORING_CQE_F_MORE))
        result = last(a, result);
    a->polls = result == -EAGAIN;
    if (result < 0)
        a->error = result == -ECANCELED || a->polls ? 0 : result;
    else if (polled)
        return;
    else if (!fin_link_empty(&a->takers))
        give(FIN_OF(struct taker, link, a->takers.next), result);
    else
        keep(a, result);
    if (a->count >= ENOUGH)
        fin_shot_cancel(s);
}

static void run(struct fin_acceptor *a) {
    if (fin_shot_runs(&a->shot) || a->shot.stopping) // who stops it has not run yet
        return;
    a->shot.call = a->polls ? (struct call){.op = IORING_OP_POLL_ADD, .fd = a->fd, .flags = POLLIN}
                            : (struct call){.op = IORING_OP_ACCEPT, .fd = a->fd, .flags = (uint32_t)a->flags,
                                            .ioprio = a->multishot};
    a->shot.call.since = a->since;
    fin_shot_start(&a->shot);
}

static int closed(const struct fin_acceptor *a) {
    const struct call c = {.fd = a->fd, .since = a->since};
    return fin_io_closed(&c) ? -EBADF : 0;
}

// Those without a stack may be back in the line at once.
static void give_all(struct fin_acceptor *a, int error) {
    bool more = !fin_link_empty(&a->takers);
    for (struct fin_link *l = a->takers.next, *last = a->takers.prev, *after; more; l = after) {
        after = l->next;
        more = l != last;
        give(FIN_OF(struct taker, link, l), error);
    }
}

static void ended(struct shot *s) {
    struct fin_acceptor *a = (struct fin_acceptor *)s;
    int result = a->error ? a->error : closed(a);
    if (fin_link_empty(&a->takers))
        return;
    if (result == 0) {
        run(a);
        return;
    }
    a->error = 0;
    give_all(a, result);
}

static void cancel_take(void *taker) {
    struct taker *t = taker;
    if (t->link.next)
        give(t, -ECANCELED);
}

static FIN_BLOCKING int wait_for_one(struct fin_acceptor *a, bool nc) {
    struct taker t = {.io = a->owned.io};
    if (!nc) {
        fin_cancel_add(&t.waiter.item, cancel_take, &t);
        if (fin_cancel_item_ran(&t.waiter.item))
            return -ECANCELED;
    }
    fin_link_back(&a->takers, &t.link);
    fin_io_suspend(&t.waiter);
    if (!nc)
        fin_cancel_remove(&t.waiter.item);
    if (t.waiter.result >= 0)
        fin_io_take(t.io, t.held);
    return t.waiter.result;
}

static FIN_BLOCKING int from_shot(struct fin_acceptor *a, bool nc) {
    int error = a->error ? a->error : fin_shot_runs(&a->shot) ? 0 : closed(a);
    a->error = 0;
    if (error)
        return error;
    run(a);
    return wait_for_one(a, nc);
}

// With a continuation.
struct taker_on {
    struct taker taker; // first
    struct fin_acceptor *acceptor;
    struct fin_awe *awe;
};
_Static_assert(sizeof(struct taker_on) <= sizeof(struct fin_on), "room for one that takes a connection");

void fin_acceptor_cancel(void *taker) { cancel_take(taker); }

static FIN_BLOCKING int accept_one(struct fin_acceptor *a, bool nc) {
    if (closed(a))
        return -EBADF;
    return nc ? fin_accept4_nc(a->fd, NULL, NULL, a->flags) : fin_accept4(a->fd, NULL, NULL, a->flags);
}

static bool lacks(int result) { return result == -EMFILE || result == -ENFILE || result == -ENOBUFS || result == -ENOMEM; }

static bool passing(int result) {
    return result == -ECONNABORTED || result == -EPROTO || fin_uring_interrupted(result);
}

static FIN_BLOCKING int pause_over(struct fin_acceptor *a, bool nc) {
    if (a->not_before == 0 || fin_now() >= a->not_before)
        return 0;
    return nc ? fin_sleep_until_nc(a->not_before) : fin_sleep_until(a->not_before);
}

// Of many that wait one tries again after each pause.
static void lacked(struct fin_acceptor *a) {
    uint64_t now = fin_now();
    if (now < a->not_before)
        return;
    a->not_before = now + (FIN_MS << a->pauses);
    a->pauses += a->pauses < LONGEST_PAUSE;
}

static FIN_BLOCKING int next(struct fin_acceptor *a, bool nc) {
    for (;;) {
        int r = pause_over(a, nc);
        if (a->count)
            return take(a);
        if (r == 0)
            r = a->stopped ? -ESHUTDOWN : a->ring ? from_shot(a, nc) : accept_one(a, nc);
        if (r >= 0)
            a->pauses = 0;
        if (lacks(r))
            lacked(a);
        else if (!passing(r))
            return r;
    }
}

static FIN_BLOCKING int next_checked(struct fin_acceptor *a, bool nc) {
    if (!fin_owned_here(&a->owned))
        return -EXDEV;
    if (!nc && fin_cancelled())
        return -ECANCELED;
    a->inside++;
    int r = next(a, nc);
    a->inside--;
    return r;
}

// A result, or -EAGAIN: a connection has to be waited for.
static int without_waiting(struct fin_acceptor *a) {
    int error = a->error;
    if (a->count)
        return take(a);
    a->error = 0;
    if (error && !passing(error))
        return error;
    if (!a->stopped && !fin_shot_runs(&a->shot) && closed(a))
        return -EBADF;
    return a->stopped ? -ESHUTDOWN : -EAGAIN;
}

static void stand_in_line(struct taker_on *t) {
    struct fin_acceptor *a = t->acceptor;
    run(a);
    fin_link_back(&a->takers, &t->taker.link);
}

void fin_acceptor_completed(struct io *io, struct waiter *w) {
    struct taker_on *t = (struct taker_on *)w;
    int r = w->result;
    if (r >= 0)
        fin_io_take(io, t->taker.held);
    else if (passing(r))
        r = without_waiting(t->acceptor);
    if (r == -EAGAIN) {
        stand_in_line(t);
        return;
    }
    t->acceptor->inside--;
    io->rt->known[FIN_FOR_IO] += r != -ECANCELED;
    fin_cont_done_descriptor(io->rt, t->awe, r);
}

static void begin_taking(struct fin_awe *awe, void *arg) {
    struct taker_on *t = arg;
    t->awe = awe;
    t->acceptor->inside++;
    stand_in_line(t);
}

int fin_acceptor_next_on(struct fin_acceptor *a, struct fin_on *on, fin_cont *cont, const void *state, size_t size) {
    struct taker_on *t = (struct taker_on *)(void *)on;
    int begun = fin_owned_here(&a->owned) ? fin_cont_begin(cont, size, true) : -EXDEV;
    if (begun < 0)
        return begun;
    int r = begun > 0 ? -ECANCELED : without_waiting(a);
    if (r != -EAGAIN)
        return fin_cont_call_descriptor(cont, state, size, r);
    if (!a->ring)
        return fin_accept_on(on, a->fd, a->flags, cont, state, size);
    *t =
        (struct taker_on){.taker = {.io = a->owned.io, .waiter.item = {.fn = fin_acceptor_cancel, .arg = t}}, .acceptor = a};
    return fin_cont_suspend(FIN_FOR_IO, cont, state, size, &t->taker.waiter.item, begin_taking, t);
}

int fin_acceptor_next(struct fin_acceptor *a) { return next_checked(a, false); }
int fin_acceptor_next_nc(struct fin_acceptor *a) { return next_checked(a, true); }

static int dispose(struct fin_acceptor *a) {
    int n = (int)a->count;
    while (a->count)
        close(take(a));
    fin_owned_remove(&a->owned);
    free(a->queue);
    free(a);
    return n;
}

static void lost(struct owned *o) { dispose(FIN_OF(struct fin_acceptor, owned, o)); }

int fin_acceptor_open(struct fin_acceptor **out, int fd, int flags) {
    struct io *io;
    int error = fd >= FIXED ? -EBADF : fin_io_here(&io);
    if (error)
        return error;
    struct fin_acceptor *a = aligned_alloc(_Alignof(struct fin_acceptor), sizeof *a);
    if (!a)
        return -ENOMEM;
    *a = (struct fin_acceptor){
        .fd = fd, .flags = flags, .since = fin_closes_now(), .ring = io->can.ops != 0};
    // Of a Unix socket that is shut down a multishot accept tells nothing (Linux 6.18).
    bool multishot = io->can.multishot_accept && fin_socket_option(fd, SO_DOMAIN) != AF_UNIX;
    a->multishot = multishot ? IORING_ACCEPT_MULTISHOT : 0;
    a->shot = (struct shot){.request.io = io, .got = got, .ended = ended};
    fin_link_init(&a->takers);
    fin_owned_add(&a->owned, io, lost);
    *out = a;
    return 0;
}

int fin_acceptor_stop(struct fin_acceptor *a) {
    if (!fin_owned_here(&a->owned))
        return -EXDEV;
    if (a->inside)
        return -EBUSY;
    a->inside++;
    if (a->ring)
        fin_shot_stop(&a->shot);
    a->inside--;
    a->stopped = true;
    give_all(a, -ESHUTDOWN); // who came meanwhile
    return 0;
}

int fin_acceptor_close(struct fin_acceptor *a) {
    int error = fin_acceptor_stop(a);
    return error ? error : a->inside ? -EBUSY : dispose(a);
}

// SPDX-License-Identifier: BSD-2-Clause
// Receivers: a multishot receive whose pieces wait in a list until they are taken. A piece holds a buffer, so their number
// is bounded; the kernel ends the request when none is left, and what comes then stays in the socket. Without multishot, and
// after a lack of buffers, the AWE receives for itself.
#include <fin/on.h>

#include <poll.h>
#include <stdlib.h>

#include "core/told.h"
#include "io/buffers.h"
#include "io/fixed.h"
#include "io/uring.h"

struct fin_receiver {
    struct shot shot; // first
    struct owned owned;
    struct fin_buffers *buffers;
    int fd;
    uint32_t first, last; // pieces received
    int end;              // result that ended the request: 0, or -errno
    bool multishot, has_end, stopped, inside;
    bool can_come; // data, to this socket: it has been asked
    struct waiter *taker;
    // of one that waits with a continuation
    void **piece;
    struct fin_kept kept;
};

static void wake_taker(struct fin_receiver *r, int result) {
    struct waiter *w = r->taker;
    r->taker = NULL;
    if (w)
        fin_io_resume(r->owned.io, w, result);
}

static void got(struct shot *s, int result, uint32_t flags) {
    struct fin_receiver *r = (struct fin_receiver *)s;
    struct piece *pieces = r->buffers->pieces;
    uint32_t index = fin_buffers_taken(r->buffers, result, flags);
    if (index != NO_PIECE) {
        pieces[index].next = NO_PIECE;
        if (r->first == NO_PIECE)
            r->first = index;
        else
            pieces[r->last].next = index;
        r->last = index;
        wake_taker(r, 0);
    } else if (result <= 0 && result != -ECANCELED) {
        r->has_end = true;
        r->end = result;
    }
}

static void ended(struct shot *s) { wake_taker((struct fin_receiver *)s, 0); }

static ssize_t take_piece(struct fin_receiver *r, void **piece) {
    struct piece *p = &r->buffers->pieces[r->first];
    *piece = fin_buffers_give(r->buffers, r->first);
    r->first = p->next;
    return (ssize_t)p->size;
}

void fin_receiver_cancel(void *receiver) { wake_taker(receiver, -ECANCELED); }

static FIN_BLOCKING int wait_for_piece(struct fin_receiver *r, bool nc) {
    struct waiter w;
    if (!nc) {
        fin_cancel_add(&w.item, fin_receiver_cancel, r);
        if (fin_cancel_item_ran(&w.item))
            return -ECANCELED;
    }
    r->taker = &w;
    fin_io_suspend(&w);
    if (!nc)
        fin_cancel_remove(&w.item);
    return w.result;
}

enum { WAIT = INT32_MIN, LACKING = INT32_MIN + 1 };

// What can be had at once; WAIT for the request, which runs; or, LACKING, receive without it. In the end no piece is left,
// and nothing to come.
static ssize_t without_waiting(struct fin_receiver *r, void **piece) {
    if (r->first != NO_PIECE)
        return take_piece(r, piece);
    if (fin_shot_runs(&r->shot))
        return WAIT;
    bool had_end = r->has_end;
    r->has_end = false;
    if (had_end && r->end != -ENOBUFS && !fin_uring_interrupted(r->end) && r->end != -EAGAIN)
        return r->end;
    if (r->stopped)
        return -ESHUTDOWN;
    if (fin_io_closed(&r->shot.call))
        return -EBADF;
    if (had_end || !r->multishot) {
        int refused = r->can_come ? 0 : fin_buffers_refused(r->fd, r->shot.call.since);
        r->can_come = refused == 0;
        return refused ? refused : LACKING;
    }
    fin_shot_start(&r->shot);
    return WAIT;
}

static FIN_BLOCKING ssize_t next(struct fin_receiver *r, void **piece, bool nc) {
    for (;;) {
        ssize_t n = without_waiting(r, piece);
        if (n == LACKING)
            return fin_buffers_recv_late(r->buffers, r->fd, r->shot.call.since, piece, nc);
        if (n != WAIT)
            return n;
        int error = wait_for_piece(r, nc);
        if (error)
            return error;
    }
}

static FIN_BLOCKING ssize_t next_checked(struct fin_receiver *r, void **piece, bool nc) {
    *piece = NULL;
    if (!fin_owned_here(&r->owned))
        return -EXDEV;
    if (r->inside)
        return -EBUSY;
    if (!nc && fin_cancelled())
        return -ECANCELED;
    r->inside = true;
    ssize_t n = next(r, piece, nc);
    r->inside = false;
    return n;
}

ssize_t fin_receiver_next(struct fin_receiver *r, void **piece) { return next_checked(r, piece, false); }
ssize_t fin_receiver_next_nc(struct fin_receiver *r, void **piece) { return next_checked(r, piece, true); }

// ---- with a continuation

struct taker_on {
    struct waiter waiter; // first
    struct fin_receiver *receiver;
    struct fin_awe *awe;
    struct fin_on *on;
};
_Static_assert(sizeof(struct taker_on) <= sizeof(struct fin_on), "room for one that takes a piece");

// From our continuation. Nothing comes between, as it would if the AWE had to wait for its turn: who closed the receiver and
// its buffers then would free the piece.
static void end_of_wait(struct fin_receiver *r, ssize_t n) {
    r->inside = false;
    fin_cont_tell(&r->kept, (int)n);
}

static FIN_INNER void given(void *state, int n) {
    end_of_wait(FIN_OF(struct fin_receiver, kept, *(struct fin_kept **)state), n);
}

// There is data, which the others that lack a buffer may take first.
static FIN_INNER FIN_BLOCKING void readable(void *state, int result) {
    struct fin_receiver *r = FIN_OF(struct fin_receiver, kept, *(struct fin_kept **)state);
    end_of_wait(r, result < 0 ? result : fin_buffers_recv_late(r->buffers, r->fd, r->shot.call.since, r->piece, false));
}

struct late {
    struct fin_kept *kept; // first; the receiver's
    struct fin_on *on;
};

static FIN_INNER void await_data(void *state, int result) {
    struct late l = *(struct late *)state;
    struct fin_receiver *r = FIN_OF(struct fin_receiver, kept, l.kept);
    if (result == 0 && fin_io_closed(&r->shot.call))
        result = -EBADF;
    int error = result < 0 ? result : fin_poll_on(l.on, r->fd, POLLIN, readable, &l.kept, sizeof l.kept);
    end_of_wait(r, error);
}

void fin_receiver_completed(struct io *io, struct waiter *w) {
    struct taker_on *t = (struct taker_on *)w;
    struct fin_receiver *r = t->receiver;
    ssize_t n = w->result < 0 ? w->result : without_waiting(r, r->piece);
    if (n == WAIT) {
        r->taker = w;
        return;
    }
    if (n == LACKING) {
        struct late l = {&r->kept, t->on};
        fin_cont_instead_of(t->awe, &r->kept, await_data, &l, sizeof l);
        fin_cont_done(io->rt, t->awe, 0);
        return;
    }
    struct fin_kept *kept = &r->kept;
    fin_cont_instead_of(t->awe, kept, given, &kept, sizeof kept);
    io->rt->known[FIN_FOR_IO] += n != -ECANCELED;
    fin_cont_done(io->rt, t->awe, (int)n);
}

static void begin_taking(struct fin_awe *awe, void *arg) { ((struct taker_on *)arg)->awe = awe; }

int fin_receiver_next_on(struct fin_receiver *r, void **piece, struct fin_on *on, fin_cont *cont, const void *state,
                         size_t size) {
    struct taker_on *t = (struct taker_on *)(void *)on;
    if (!fin_owned_here(&r->owned) || r->inside)
        return r->inside ? -EBUSY : -EXDEV;
    int begun = fin_cont_begin(cont, size, true);
    if (begun < 0)
        return begun;
    *piece = NULL;
    ssize_t n = begun > 0 ? -ECANCELED : without_waiting(r, piece);
    struct fin_kept *kept = &r->kept;
    r->inside = true;
    r->piece = piece;
    fin_keep(kept, cont, state, size);
    if (n != WAIT && n != LACKING) {
        int error = fin_cont_call(given, &kept, sizeof kept, (int)n);
        r->inside = false;
        return error;
    }
    if (n == LACKING) {
        int error = fin_poll_on(on, r->fd, POLLIN, readable, &kept, sizeof kept);
        r->inside = false;
        return error;
    }
    *t = (struct taker_on){.waiter.item = {.fn = fin_receiver_cancel, .arg = r}, .receiver = r, .on = on};
    r->taker = &t->waiter;
    return fin_cont_suspend(FIN_FOR_IO, cont, state, size, &t->waiter.item, begin_taking, t);
}

int fin_receiver_stop(struct fin_receiver *r) {
    if (!fin_owned_here(&r->owned))
        return -EXDEV;
    if (r->inside)
        return -EBUSY;
    r->inside = true;
    fin_shot_stop(&r->shot);
    r->inside = false;
    r->stopped = true;
    return 0;
}

static void dispose(struct fin_receiver *r) {
    fin_owned_remove(&r->owned);
    free(r);
}

static void lost(struct owned *o) { dispose(FIN_OF(struct fin_receiver, owned, o)); }

ssize_t fin_receiver_close(struct fin_receiver *r) {
    ssize_t left = 0;
    int error = fin_receiver_stop(r);
    if (error)
        return error;
    while (r->first != NO_PIECE) {
        uint32_t index = r->first;
        void *piece;
        left += take_piece(r, &piece);
        fin_buffers_put_index(r->buffers, index);
    }
    r->buffers->users--;
    dispose(r);
    return left;
}

int fin_receiver_open(struct fin_receiver **out, int fd, struct fin_buffers *b) {
    if (!fin_owned_here(&b->owned))
        return -EXDEV;
    if (fd >= FIXED)
        return -EBADF;
    struct fin_receiver *r = aligned_alloc(_Alignof(struct fin_receiver), sizeof *r);
    if (!r)
        return -ENOMEM;
    struct io *io = b->owned.io;
    *r = (struct fin_receiver){.fd = fd, .buffers = b, .first = NO_PIECE, .multishot = b->ring && io->can.multishot_receive};
    r->shot = (struct shot){.request.io = io, .got = got, .ended = ended};
    r->shot.call = (struct call){.op = IORING_OP_RECV,
                                 .fd = fd,
                                 .ioprio = IORING_RECV_MULTISHOT,
                                 .sqe_flags = IOSQE_BUFFER_SELECT,
                                 .buf_index = b->group,
                                 .since = fin_closes_now()};
    b->users++;
    fin_owned_add(&r->owned, io, lost);
    *out = r;
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Receivers: a multishot receive whose pieces wait in a list until they are taken. A piece holds a buffer, so their number
// is bounded; the kernel ends the request when none is left, and what comes then stays in the socket. Without multishot, and
// after a lack of buffers, the AWE receives for itself.
#include <stdlib.h>

#include "io/buffers.h"
#include "io/uring.h"

struct fin_receiver {
    struct shot shot; // first
    struct owned owned;
    struct fin_buffers *buffers;
    int fd;
    uint32_t first, last; // pieces received
    int end;              // result that ended the request: 0, or -errno
    bool multishot, has_end, stopped, inside;
    struct waiter *taker;
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

static ssize_t take(struct fin_receiver *r, void **piece) {
    struct piece *p = &r->buffers->pieces[r->first];
    *piece = fin_buffers_at(r->buffers, r->first);
    r->first = p->next;
    return (ssize_t)p->size;
}

static void cancel(void *receiver) { wake_taker(receiver, -ECANCELED); }

static FIN_BLOCKING int wait_for_piece(struct fin_receiver *r, bool nc) {
    struct waiter w;
    if (!nc) {
        fin_cancel_item_add(&w.item, cancel, r);
        if (fin_cancel_item_ran(&w.item))
            return -ECANCELED;
    }
    r->taker = &w;
    fin_io_suspend(&w);
    if (!nc)
        fin_cancel_item_remove(&w.item);
    return w.result;
}

// In the end no piece is left, and nothing to come.
static FIN_BLOCKING ssize_t next(struct fin_receiver *r, void **piece, bool nc) {
    bool lacking = !r->multishot;
    for (;;) {
        if (r->first != NO_PIECE)
            return take(r, piece);
        if (!fin_shot_runs(&r->shot)) {
            if (r->has_end && r->end != -ENOBUFS && !fin_uring_interrupted(r->end) && r->end != -EAGAIN) {
                r->has_end = false;
                return r->end;
            }
            lacking |= r->has_end;
            r->has_end = false;
            if (r->stopped)
                return -ESHUTDOWN;
            if (lacking)
                return fin_buffers_recv_late(r->buffers, r->fd, piece, nc);
            fin_shot_start(&r->shot);
        }
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
        left += take(r, &piece);
        fin_buffers_put_index(r->buffers, index);
    }
    r->buffers->users--;
    dispose(r);
    return left;
}

int fin_receiver_open(struct fin_receiver **out, int fd, struct fin_buffers *b) {
    if (!fin_owned_here(&b->owned))
        return -EXDEV;
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
                                 .buf_index = b->group};
    b->users++;
    fin_owned_add(&r->owned, io, lost);
    *out = r;
    return 0;
}

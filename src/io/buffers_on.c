// SPDX-License-Identifier: BSD-2-Clause
// Receiving into a buffer of many, with a continuation: as in buffers.c. The AWE waits for the kernel to receive, or, where
// that has no buffer or knows of none, for data; and then, with a stack, for a buffer.
#include <poll.h>

#include "core/told.h"
#include "io/buffers.h"
#include "io/fixed.h"

// In the program's struct fin_buffers_on.
struct buffers_on {
    struct fin_kept kept; // first: the address of this is the state of our continuations
    struct fin_buffers *buffers;
    void **piece;
    int fd;
    uint64_t since; // struct call's
    struct fin_on on;
};
_Static_assert(sizeof(struct buffers_on) <= sizeof(struct fin_buffers_on), "room for a wait");

static int end(struct buffers_on *w, ssize_t n) {
    w->buffers->users--;
    return fin_cont_call(w->kept.cont, w->kept.state, w->kept.size, (int)n);
}

// As end() from our continuation: nobody frees a buffer before its AWE has heard of it.
static void tell(struct buffers_on *w, ssize_t n) {
    w->buffers->users--;
    fin_cont_tell(&w->kept, (int)n);
}

// There is data, which the others that lack a buffer may take first.
static FIN_INNER FIN_BLOCKING void readable(void *state, int result) {
    struct buffers_on *w = *(struct buffers_on **)state;
    tell(w, result < 0 ? result : fin_buffers_recv_late(w->buffers, w->fd, w->since, w->piece, false));
}

static int await_data(struct buffers_on *w) {
    int refused = fin_buffers_refused(w->fd, w->since);
    return end(w, refused ? refused : fin_poll_on(&w->on, w->fd, POLLIN, readable, &w, sizeof w)); // where that was refused
}

static FIN_INNER void received(void *state, int n) {
    struct buffers_on *w = *(struct buffers_on **)state;
    uint32_t flags = fin_on_flags(&w->on), index = fin_buffers_taken(w->buffers, n, flags);
    if (index != NO_PIECE)
        *w->piece = fin_buffers_give(w->buffers, index);
    if (fin_buffers_lacked(n, flags))
        await_data(w);
    else
        tell(w, n);
}

int fin_buffers_recv_on(struct fin_buffers *b, int fd, void **piece, struct fin_buffers_on *on, fin_cont *cont,
                        const void *state, size_t size) {
    struct buffers_on *w = (struct buffers_on *)(void *)on;
    int begun = fin_owned_here(&b->owned) ? fin_cont_begin(cont, size, true) : -EXDEV;
    if (begun < 0)
        return begun;
    *piece = NULL;
    if (begun > 0 || fd >= FIXED)
        return fin_cont_call(cont, state, size, begun > 0 ? -ECANCELED : -EBADF);
    fin_keep(&w->kept, cont, state, size);
    w->buffers = b;
    w->piece = piece;
    w->fd = fd;
    w->since = fin_closes_now();
    b->users++;
    if (!b->ring)
        return await_data(w);
    const struct call c = {
        .op = IORING_OP_RECV, .fd = fd, .len = (uint32_t)b->size, .sqe_flags = IOSQE_BUFFER_SELECT, .buf_index = b->group};
    return end(w, fin_on_call(&w->on, &c, received, &w, sizeof w));
}

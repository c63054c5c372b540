// SPDX-License-Identifier: BSD-2-Clause
// Closing with a continuation. What the ring does not close by itself keeps the stack, and waits for no more than a chain
// that names the descriptor.
#include <fin/on.h>

#include "core/told.h"
#include "io/call.h"

// In the program's struct fin_more_on.
struct close_on {
    struct fin_kept kept; // first: the address of this is the state of our continuation
    uint64_t begun;
    int fd;
    struct fin_on on;
};
_Static_assert(sizeof(struct close_on) <= sizeof(struct fin_more_on), "room for a wait");

static FIN_INNER void closed(void *state, int r) {
    struct close_on *w = *(struct close_on **)state;
    fin_close_ends(w->fd, w->begun, r != -ECANCELED);
    fin_cont_tell(&w->kept, r);
}

static bool by_ring(int fd) {
    struct io *io;
    return fin_io_here(&io) == 0 && io->can.ops >> IORING_OP_CLOSE & 1 && !fin_close_is_linked(fd);
}

static FIN_LEAVES_FRAME int with_stack(int fd, bool nc, fin_cont *cont, const void *state, size_t size) {
    struct fin_cont_record *held;
    if (!fin_cont_hold(&held))
        return -ENOMEM;
    int r = nc ? fin_close_nc(fd) : fin_close(fd);
    fin_cont_let_go(held);
    return fin_cont_call(cont, state, size, r);
}

static int close_it(struct fin_more_on *storage, int fd, bool nc, fin_cont *cont, const void *state, size_t size) {
    struct close_on *w = (struct close_on *)(void *)storage;
    const struct call c = {.op = IORING_OP_CLOSE, .fd = fd, .nc = nc};
    int error = nc ? fin_cont_begin(cont, size, false) : fin_cont_may_wait(cont, state, size);
    if (error)
        return error;
    if (!by_ring(fd))
        return with_stack(fd, nc, cont, state, size);
    fin_keep(&w->kept, cont, state, size);
    w->fd = fd;
    w->begun = fin_close_begins(fd);
    return fin_on_call(&w->on, &c, closed, &w, sizeof w);
}

int fin_close_on(struct fin_more_on *on, int fd, fin_cont *cont, const void *state, size_t size) {
    return close_it(on, fd, false, cont, state, size);
}

int fin_close_on_nc(struct fin_more_on *on, int fd, fin_cont *cont, const void *state, size_t size) {
    return close_it(on, fd, true, cont, state, size);
}

// SPDX-License-Identifier: BSD-2-Clause
// Finish blocks of AWEs without a stack (ac 2; fin/cont.h). A block in a function's frame cannot last from one step to the
// next, as the frame does not. Such a block lies in the program's own object instead: the AWE opens it in one step, and
// closes it in that step or in a later one. Between the two the AWE is in the block with all that it does, as if that were
// written inside fin_finish: what it waits for ends when the block is cancelled, and AWEs that it starts with
// fin_async_cont_beside belong to the block. Closing waits for those.
//
//     fin_timeout_open(&c->limit, 10 * FIN_S);
//     fin_recv_on(&c->on, c->fd, c->buffer, sizeof c->buffer, 0, received, &c, sizeof c);
//     ...
//     static void received(void *state, int n) {
//         struct connection *c = *(struct connection **)state;
//         bool late = fin_finish_close(&c->limit) > 0;       // n is -ECANCELED then, or it was there just in time
//
// Blocks nest: the one opened last is closed first. One that is not closed when its AWE ends is a mistake, which ends the
// program with a message. The object needs no initialization, and stays where it is until the block is closed.
//
// All functions concern the calling thread. Errors: -EINVAL where no explicit AWE runs, or where f is not the block that it
// opened last; -EBUSY inside a finish block of a function's frame, with a fin_cancel_item of the program's in a local
// variable, and, for opening, while an async waits that this step has begun in the block around. C++20 coroutines have
// classes for this: fin::co::finish, fin::co::timeout (fin/co_finish.hpp).
#ifndef FIN_FINISH_ON_H
#define FIN_FINISH_ON_H

#include <fin/cont.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fin_finish_on {
    struct fin_finish_block block;
    void *error;            // the exception that left a body: C++'s
    struct fin_awe *opener; // who is in the block without having been started in it
    struct fin_awe *waiter; // while it is being closed
    uint32_t left;          // what is counted in the block when that is over
    uint64_t timer[9];
};

// The running AWE goes on in the block. Returns 0 or an error. Does not block.
int fin_finish_open(struct fin_finish_on *f);
int fin_finish_open_nc(struct fin_finish_on *f); // shielded: cancellation of the blocks around it does not reach into it
// The block is cancelled when `ns` nanoseconds are over, or when fin_now() is `when`: fin_timeout and fin_deadline of
// <fin/time.h> say what holds for the time.
int fin_timeout_open(struct fin_finish_on *f, uint64_t ns);
int fin_deadline_open(struct fin_finish_on *f, uint64_t when);

// Asks all that waits in the block to stop waiting, as fin_cancel does; also from AWEs that are not in it. Does not block.
static inline void fin_finish_cancel(struct fin_finish_on *f) { fin_cancel_block_(&f->block); }

// The running AWE, which opened the block, leaves it; nobody else is in it. Returns 0; 1 if it had a time which ran out
// (even then the work may have been done); -EBUSY if others are still there. Does not block.
int fin_finish_close(struct fin_finish_on *f);

// The same, but waits for the others with a continuation, whose result is 0 or 1. That wait is not cancelled, as the end of
// a finish block is not. Returns only if it is refused, with an error of these functions or of fin_block_on.
int fin_finish_close_on(struct fin_finish_on *f, fin_cont *cont, const void *state, size_t size);

// The same, but waits with the stack of the step, and returns. Not cancelled.
FIN_BLOCKING int fin_finish_close_wait(struct fin_finish_on *f);

#ifdef __cplusplus
}
#endif
#endif

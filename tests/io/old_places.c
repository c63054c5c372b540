// SPDX-License-Identifier: BSD-2-Clause
// A request is in flight while the places of a submission queue, which are counted in 32 bits, are used by others, half of
// them or all: it is not one that the kernel has not seen, and a cancellation does not take back what lies there now.
#include <fin.h>

#include "check.h"
#include "process.h"

#include "io/uring.h"

static int ends[2];
static char byte;

static void receives(void *unused) {
    (void)unused;
    CHECK_EQ(fin_recv(ends[0], &byte, 1, 0), -ECANCELED);
}

static void looked_at(struct io *io) {
    struct io_uring_sq *sq = &io->uring.ring.sq;
    struct call call = {.op = IORING_OP_RECV};
    struct request r = {.io = io, .call = &call, .pending = RESULT};
    unsigned head = *sq->khead, queued = sq->sqe_tail - head;
    CHECK_EQ(queued, 1);
    // whatever head has become since its place was used
    for (unsigned k = 0; k < 64; k++)
        for (unsigned around = 0; around < 3; around++) {
            r.position = head - (around ? 1u << 31 : 0) - k + (around == 2 ? 32 : 0);
            CHECK(!fin_uring_unseen(&r));
            CHECK(!fin_uring_withdraw(&r));
        }
    CHECK_EQ(sq->sqes[head & *sq->kring_mask].opcode, IORING_OP_RECV);
    CHECK_EQ(r.pending, RESULT);
}

int main(void) {
    struct io *io;
    CHECK_EQ(fin_io_here(&io), 0);
    if (io->backend != &fin_io_uring)
        SKIP("without a ring there are no places");
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    fin_finish_as(all) {
        fin_async_call(receives, NULL);
        looked_at(io); // the receive is in the queue, at its head: the place that a request had one round before
        fin_cancel_as(all);
    }
    return 0;
}

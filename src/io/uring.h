// SPDX-License-Identifier: BSD-2-Clause
// What the files that speak to the ring share: uring.c and request.c (one request, one result), multishot.c (one request,
// many), linked.c.
#ifndef FIN_IO_URING_H
#define FIN_IO_URING_H

#include "io/io.h"

// user_data is the address of a request and what the completion is to it; TO_FD: a result that is not negative is a
// descriptor. A message (message.h) may have brought some.
enum { TO_REQUEST, TO_CANCEL, TO_SHOT, TO_SHOT_CANCEL, TO_STEP, TO_STEP_CANCEL, TO_MESSAGE, TO_MESSAGE_CANCEL };
enum { TO_KIND = 7, TO_FD = 8, TO_TAG = 15 };
enum { TO_NOBODY = 0, TO_WAKE = 1 }; // without an address

// What is to come: a result, the end of a cancellation, word that a buffer that was sent from is free.
enum { RESULT = 1, CANCEL = 2, RELEASE = 4 };

// What has been tried, and how a request is tried again (again.c). Starts as zeros.
struct tries {
    uint16_t interrupted;
    uint8_t unstarted;
    bool polls : 1; // the last request is a wait for readiness
    bool was_ready : 1;
    bool half : 1; // that wait ended because the peer sends no more
    bool nudged : 1;
    uint32_t only; // where an epoll is held that it looks at instead, counted from 1; or 0
};

// In the frame of its call, or in an object that outlives what the kernel does with it.
struct request {
    struct io *io;
    const struct call *call;
    struct waiter waiter;
    unsigned position; // in the submission queue, counted from the start of the ring; later where the descriptor is held
    uint32_t flags;    // of the completion
    uint8_t pending, tries, tag;
    bool cancelled, withdrawn;
    bool listed, nudged; // of one that waits for a connection (unheard.c)
    bool first; // of one with a continuation: it has been begun once; then a result that is no error is all there is to say
    union {
        struct fin_timer again; // set up with the cancellation
        struct fin_link accepting; // until then, where it is listed
    };
    struct tries tried;     // set up where there is a result that is none yet
} __attribute__((aligned(16)));

// A request that completes many times: `got` is called for each result, `ended` when nothing is to come any more, neither of
// it nor of a cancellation. Then it may start again, or its memory end.
struct shot {
    struct request request; // first
    struct call call;
    void (*got)(struct shot *s, int result, uint32_t flags);
    void (*ended)(struct shot *s);
    bool stopping;
};

// How often what was interrupted is tried again at once. From then on a request comes after a pause each time; a splice
// without one fails: Linux 6.12 says so for ever of a splice to a socket from a pipe where a write from a bad address has
// failed.
enum { MOST_INTERRUPTED = 1000 };

// again.c: what comes after a result: nothing, the call again, a wait until its descriptor is ready, or the call in a
// millisecond.
enum fin_next { FIN_OVER, FIN_CALL, FIN_POLL, FIN_PAUSE };
enum fin_next fin_uring_next(struct request *r, const struct call *c, int *result); // of r->tried
struct call fin_uring_poll_for(const struct request *r, const struct call *c);
bool fin_uring_interrupted(int result);

// request.c
void fin_uring_start(struct request *r, uint8_t kind);
int fin_uring_failed(const struct request *r, const struct call *c, int result); // what the caller is told
FIN_BLOCKING int fin_uring_run(struct io *io, const struct call *c, uint32_t *flags); // of the completion
FIN_BLOCKING int fin_uring_call(struct io *io, const struct call *c);

// setup.c
int fin_uring_begin(struct io *io); // 0 or a negative errno: there is no ring, or one that is too old
int fin_uring_map(struct io_uring *ring, unsigned entries, struct io_uring_params *p); // 0 or a negative errno
void fin_uring_unmap(struct io_uring *ring);
// In the child of a fork, which shares the queues with its parent: they become memory of its own, and to the child all
// requests are as if the kernel had not seen them. So it can take them back, as far as it is concerned, and its parent hears
// nothing.
void fin_uring_forked(struct io *io);

// uring.c
void fin_uring_make_room(struct io *io);
// Where the next entry goes, counted from the start of the ring. A full queue loses nothing: what is in it goes down first.
// (models/full.pml)
static inline unsigned fin_uring_place(struct io *io) {
    struct io_uring_sq *sq = &io->uring.ring.sq;
    while (FIN_UNLIKELY(sq->sqe_tail - *sq->khead >= sq->ring_entries))
        fin_uring_make_room(io);
    io->uring.in_flight++;
    return sq->sqe_tail++;
}
// Makes a request the next entry, of which the caller writes the first four words and the last three.
typedef uint64_t __attribute__((may_alias)) entry_word;
static inline entry_word *fin_uring_submit(struct request *r, struct io *io, unsigned place, uint8_t tag) {
    entry_word *e = (entry_word *)&io->uring.ring.sq.sqes[place & io->uring.ring.sq.ring_mask];
    io->rt->stats.requests++;
    e[4] = (uint64_t)(uintptr_t)r | tag;
    r->position = place;
    r->tag = tag;
    return e;
}
struct io_uring_sqe *fin_uring_entry(struct io *io);
void fin_uring_send_cancel(struct request *r);
bool fin_uring_nudge(struct request *r); // in vain where there is no room in the queue
void fin_uring_send_cancel_soon(struct request *r); // makes no room: it may be called where something completes
bool fin_uring_room(struct io *io, unsigned entries);
bool fin_uring_unseen(const struct request *r);
bool fin_uring_withdraw(struct request *r); // where the kernel has not seen it
void fin_uring_cancel_completed(struct request *r, int result);
void fin_uring_cancel(void *request); // the cancel item of a request
void fin_uring_cancelled_in_child(struct io *parents); // in the child of a fork: what the parent has cancelled ends
void fin_uring_written(const struct call *c, int result); // valgrind does not see what the kernel writes

// unheard.c
void fin_accept_begins(struct request *r); // it is in the queue
void fin_accept_lists(struct request *r);
void fin_accept_off_list(struct request *r);
static inline bool fin_accept_nudged(const struct request *r, const struct call *c) { // it may end for being made again
    return c->op == IORING_OP_ACCEPT && r->nudged;
}
static inline void fin_accept_over(struct request *r) { // it has its result, was taken back, or will be cancelled
    if (r->tag & TO_FD && r->call->op == IORING_OP_ACCEPT && r->listed)
        fin_accept_off_list(r);
}
int fin_accept_cancelled(struct io *io, const struct call *c); // what it comes to: a descriptor or -ECANCELED
void fin_accept_more(struct io *io, const struct call *c);     // one that was nudged has taken one
void fin_accepts_unheard(struct io *io); // those of all threads, or of all others, are to look whether there is a connection
void fin_accepts_heard(struct io *io);   // the thread was woken, maybe for that

// multishot.c
static inline bool fin_shot_runs(const struct shot *s) { return s->request.pending != 0; }
void fin_shot_start(struct shot *s);             // one that does not run. Makes no room, as the next
void fin_shot_cancel(struct shot *s);            // its end will come
FIN_BLOCKING void fin_shot_stop(struct shot *s); // it has come; one AWE at a time
void fin_shot_completed(struct shot *s, int result, uint32_t flags);
void fin_shot_cancel_completed(struct shot *s, int result);

#endif

// SPDX-License-Identifier: BSD-2-Clause
// I/O through one io_uring per thread. Requests are queued and go down together, in the system call that also waits, when the
// thread has nothing else to run or at its next look at events.
//
// A request lives in the frame of its call and its address names it. The call returns only when the kernel is done with it:
// after its own completion and, where it was cancelled, after that of the cancellation. So no cancellation can meet a later
// request at the same address, and nobody writes to a buffer afterwards.
#define _GNU_SOURCE
#include <poll.h>
#include <string.h>

#include "io/io.h"

enum { OWN = 1, CANCEL = 2 };                       // completions to come
enum { TO_REQUEST = 0, TO_CANCEL = 1, TO_TAG = 3 }; // low bits of user_data that has a request's address
enum { TO_NOBODY = 0, TO_WAKE = 4 };                // user_data without one
enum { ENTRIES = 256, COMPLETIONS = 4096 };
enum { MOST_TRIES = 6 };

struct request {
    struct waiter waiter;
    struct io *io;
    const struct call *call;
    struct fin_timer again;
    unsigned position; // in the submission queue, counted from the start of the ring
    uint8_t pending, tries;
    bool cancelled, withdrawn;
};

static void enter(struct io *io, int64_t ns);

// A full submission queue loses nothing: what is in it goes down first.
static struct io_uring_sqe *entry(struct io *io) {
    struct io_uring_sqe *e;
    while (!(e = io_uring_get_sqe(&io->uring.ring)))
        enter(io, 0);
    memset(e, 0, sizeof *e);
    io->uring.in_flight++;
    return e;
}

static void start(struct request *r) {
    const struct call *c = r->call;
    struct io_uring_sqe *e = entry(r->io);
    e->opcode = c->op;
    e->flags = c->sqe_flags;
    e->ioprio = c->ioprio;
    e->fd = c->fd;
    e->off = c->off;
    e->addr = (uint64_t)(uintptr_t)c->addr;
    e->len = c->len;
    e->rw_flags = (int32_t)c->flags; // the flags of every operation lie here
    e->buf_index = c->buf_index;
    e->file_index = c->file_index;
    e->addr3 = c->addr3;
    e->user_data = (uint64_t)(uintptr_t)r | TO_REQUEST;
    r->position = r->io->uring.ring.sq.sqe_tail - 1;
    r->pending |= OWN;
}

static void send_cancel(struct request *r) {
    struct io_uring_sqe *e = entry(r->io);
    e->opcode = IORING_OP_ASYNC_CANCEL;
    e->fd = -1;
    e->addr = (uint64_t)(uintptr_t)r | TO_REQUEST;
    e->user_data = (uint64_t)(uintptr_t)r | TO_CANCEL;
    r->pending |= CANCEL;
}

static void try_again(struct fin_timer *t) { send_cancel(FIN_OF(struct request, again, t)); }

// Takes back a request that the kernel has not seen.
static bool withdraw(struct request *r) {
    struct io_uring_sq *sq = &r->io->uring.ring.sq;
    if ((int)(r->position - *sq->khead) < 0)
        return false;
    struct io_uring_sqe *e = &sq->sqes[r->position & *sq->kring_mask];
    memset(e, 0, sizeof *e);
    e->opcode = IORING_OP_NOP;
    e->user_data = TO_NOBODY;
    r->pending = 0;
    r->withdrawn = true;
    fin_io_resume(r->io, &r->waiter, -ECANCELED);
    return true;
}

static void cancel(void *request) {
    struct request *r = request;
    r->cancelled = true;
    // A close that has begun releases the descriptor, whatever becomes of it.
    if (r->pending && !withdraw(r) && r->call->op != IORING_OP_CLOSE)
        send_cancel(r);
}

// Valgrind does not see what the kernel writes.
static void written(const struct call *c, int result) {
    socklen_t *size = (socklen_t *)(uintptr_t)c->off;
    if (c->op == IORING_OP_READ || c->op == IORING_OP_RECV)
        fin_track_written((void *)c->addr, (size_t)result);
    else if (c->op == IORING_OP_ACCEPT && size)
        fin_track_written((void *)c->addr, *size);
    else if (c->op == IORING_OP_STATX)
        fin_track_written((void *)(uintptr_t)c->off, 256);
}

static void completed(struct request *r, int result) {
    if (FIN_UNLIKELY(fin_on_valgrind) && result >= 0)
        written(r->call, result);
    r->waiter.result = result;
    r->pending &= (uint8_t)~OWN;
    fin_timer_remove(&r->again);
    if (!r->pending)
        fin_io_resume(r->io, &r->waiter, result);
}

// A request may be between two places where a cancellation finds it, or at work in a kernel thread that is interrupted but
// may go on waiting; so where none was found the request is looked for again.
static void cancel_completed(struct request *r, int result) {
    r->pending &= (uint8_t)~CANCEL;
    if (!r->pending)
        fin_io_resume(r->io, &r->waiter, r->waiter.result);
    else if (result < 0)
        fin_timer_add(r->io, &r->again, fin_now() + (FIN_MS << r->tries), try_again);
    r->tries += r->tries < MOST_TRIES;
}

static void dispatch_one(struct io *io, uint64_t data, int result) {
    struct request *r = (struct request *)(uintptr_t)(data & ~(uint64_t)TO_TAG);
    io->uring.in_flight--;
    if (data == TO_NOBODY)
        return;
    if (data == TO_WAKE) {
        io->uring.wake_armed = false;
        if (result > 0)
            fin_io_woken(io);
    } else if (io->ending) {
        return; // the frame may be gone
    } else if ((data & TO_TAG) == TO_REQUEST) {
        completed(r, result);
    } else {
        cancel_completed(r, result);
    }
}

static void reap(struct io *io) {
    struct io_uring *ring = &io->uring.ring;
    struct io_uring_cqe *c;
    unsigned head, n = 0;
    io_uring_for_each_cqe(ring, head, c) {
        dispatch_one(io, c->user_data, c->res);
        n++;
    }
    io_uring_cq_advance(ring, n);
}

// Valgrind lets no other thread run while one waits in the ring.
static int wait_on_valgrind(struct io *io, int64_t ns) {
    struct pollfd p = {.fd = io->fd, .events = POLLIN};
    struct timespec t = {.tv_sec = ns / (int64_t)FIN_S, .tv_nsec = ns % (int64_t)FIN_S};
    int r = io_uring_submit_and_get_events(&io->uring.ring);
    if (r >= 0 && !io_uring_cq_ready(&io->uring.ring)) {
        ppoll(&p, 1, ns < 0 ? NULL : &t, NULL);
        r = io_uring_get_events(&io->uring.ring);
    }
    return r;
}

// The one place where requests go down and completions come up. A request that did not go down stays queued.
static void enter(struct io *io, int64_t ns) {
    struct io_uring *ring = &io->uring.ring;
    int r = 0;
    if (ns == 0 || io_uring_cq_ready(ring)) {
        unsigned more = *ring->sq.kflags & (IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN);
        if (more || io_uring_sq_ready(ring))
            r = io_uring_submit_and_get_events(ring);
    } else if (FIN_UNLIKELY(fin_on_valgrind)) {
        r = wait_on_valgrind(io, ns);
    } else if (ns < 0) {
        r = io_uring_submit_and_wait(ring, 1);
    } else {
        struct __kernel_timespec t = {.tv_sec = ns / (int64_t)FIN_S, .tv_nsec = ns % (int64_t)FIN_S};
        struct io_uring_cqe *c;
        r = io_uring_submit_and_wait_timeout(ring, &c, 1, &t, NULL);
    }
    // EBUSY: completions have to be taken first; EAGAIN: the kernel has no memory now
    if (r < 0 && r != -EINTR && r != -ETIME && r != -EBUSY && r != -EAGAIN)
        fin_host_die("an io_uring no longer works: the program has closed a descriptor that is not its own");
    if (r == -EBUSY || r == -EAGAIN)
        io_uring_get_events(ring);
    reap(io);
}

static void look(struct io *io, int64_t ns) {
    struct uring *u = &io->uring;
    if (!u->wake_armed) {
        struct io_uring_sqe *e = entry(io);
        io_uring_prep_read(e, io->wake_fd, &u->wake_value, sizeof u->wake_value, 0);
        e->user_data = TO_WAKE;
        u->wake_armed = true;
    }
    enter(io, ns);
}

static bool interrupted(int result) {
    return result == -EINTR || (result <= -512 && result >= -516); // the kernel's own ERESTART...
}

static int once(struct request *r, const struct call *c) {
    r->call = c;
    start(r);
    fin_io_suspend(&r->waiter);
    return r->waiter.result;
}

static int attempts(struct request *r, const struct call *c) {
    for (;;) {
        int result = once(r, c);
        uint32_t events = fin_io_events(c);
        if (r->cancelled)
            return result;
        if (result == -EAGAIN && events) {
            // Descriptors in non-blocking mode make older kernels give up at once: an accept on 5.15.
            struct call ready = {.op = IORING_OP_POLL_ADD, .fd = c->fd, .flags = events};
            result = once(r, &ready);
            if (result < 0 && !interrupted(result))
                return result;
        } else if (!interrupted(result) || c->op == IORING_OP_CONNECT || c->op == IORING_OP_CLOSE) {
            return result;
        }
    }
}

static int run(struct io *io, const struct call *c) {
    struct request r = {.io = io};
    if (!c->nc) {
        fin_cancel_item_add(&r.waiter.item, cancel, &r);
        if (fin_cancel_item_ran(&r.waiter.item))
            return -ECANCELED;
    }
    int result = attempts(&r, c);
    if (!c->nc)
        fin_cancel_item_remove(&r.waiter.item);
    if (r.cancelled && (result == -ECANCELED || interrupted(result)))
        return c->op == IORING_OP_CONNECT && !r.withdrawn ? fin_io_connect_ended(c->fd) : -ECANCELED;
    if (interrupted(result))
        return c->op == IORING_OP_CLOSE ? 0 : -EINTR;
    return result;
}

// What newer kernels save us: completions that interrupt the thread, and locks. (6.1, 6.0, 5.19, 5.18, 5.15)
static const unsigned steps[] = {
    IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SINGLE_ISSUER |
        IORING_SETUP_DEFER_TASKRUN,
    IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SINGLE_ISSUER,
    IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
    IORING_SETUP_SUBMIT_ALL,
    0,
};
enum { STEPS = sizeof steps / sizeof *steps };

static int begin(struct io *io) {
    struct uring *u = &io->uring;
    struct io_uring_params p;
    int r = -EINVAL;
    memset(u, 0, sizeof *u);
    for (int i = io->plain || fin_on_valgrind ? STEPS - 1 : 0; i < STEPS && r == -EINVAL; i++) {
        p = (struct io_uring_params){.flags = steps[i] | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
                                     .cq_entries = COMPLETIONS};
        r = io_uring_queue_init_params(ENTRIES, &u->ring, &p);
    }
    if (r < 0)
        return r;
    unsigned need = IORING_FEAT_NODROP | IORING_FEAT_FAST_POLL | IORING_FEAT_EXT_ARG | IORING_FEAT_RSRC_TAGS;
    if ((p.features & need) != need) {
        io_uring_queue_exit(&u->ring);
        return -EOPNOTSUPP;
    }
    if (!io->plain)
        io_uring_register_ring_fd(&u->ring); // saves a look-up per call; older kernels have none
    io->fd = u->ring.ring_fd;
    u->cancels_all = p.flags & IORING_SETUP_COOP_TASKRUN; // both came with Linux 5.19
    io->name = p.flags & IORING_SETUP_DEFER_TASKRUN ? "io_uring" : "io_uring, without the features of newer kernels";
    return 0;
}

// Nothing may be in flight when the memory of the thread goes away, and no read of wake_fd when another thread takes it over.
// Where AWEs are left that wait, all is cancelled: kernels before 5.19 cannot, and leave that to the ring's own end.
static void end(struct io *io) {
    struct uring *u = &io->uring;
    struct io_uring_sqe *e;
    if (u->wake_armed) {
        e = entry(io);
        io_uring_prep_cancel64(e, TO_WAKE, 0);
        e->user_data = TO_NOBODY;
    }
    while (u->wake_armed)
        enter(io, -1);
    if (u->in_flight && u->cancels_all) {
        e = entry(io);
        io_uring_prep_cancel64(e, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
        e->user_data = TO_NOBODY;
        while (u->in_flight)
            enter(io, -1);
    }
    io->fd = -1;
    io_uring_queue_exit(&u->ring);
}

const struct backend fin_io_uring = {.begin = begin, .end = end, .poll = look, .run = run};

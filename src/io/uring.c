// SPDX-License-Identifier: BSD-2-Clause
// I/O through one io_uring per thread. Requests are queued and go down together, in the system call that also waits, when
// the thread has nothing else to run or at its next look at events.
//
// A request lives in the frame of its call and its address names it. The call returns only when the kernel is done with it:
// after its own completion and, where it was cancelled, after that of the cancellation. So no cancellation can meet a later
// request at the same address, and nobody writes to a buffer afterwards. (models/cancel.pml)
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/linked.h"
#include "io/message.h"
#include "io/uring.h"

enum { MOST_TRIES = 6 };

#define LOST "the kernel had no memory for what an io_uring has done, and it is lost"
#define CLOSED "an io_uring no longer works: the program has closed a descriptor that is not its own"

#define DENIED                                                                                                              \
    "io_uring_enter(2) fails in a thread that has used an io_uring: %s. A seccomp filter that denies it has to come before" \
    " the thread's first I/O, which then goes through epoll, as with FIN_IO=epoll"

static void enter(struct io *io, int64_t ns);

void fin_uring_make_room(struct io *io) { enter(io, 0); }

struct io_uring_sqe *fin_uring_entry(struct io *io) {
    struct io_uring_sqe *e = &io->uring.ring.sq.sqes[fin_uring_place(io) & io->uring.ring.sq.ring_mask];
    memset(e, 0, sizeof *e);
    return e;
}

// Room for entries that must go down together. False: the queue is shorter.
bool fin_uring_room(struct io *io, unsigned count) {
    struct io_uring *ring = &io->uring.ring;
    while (count <= *ring->sq.kring_entries && io_uring_sq_space_left(ring) < count)
        enter(io, 0);
    return count <= *ring->sq.kring_entries;
}

static void try_again(struct fin_timer *t) { fin_uring_send_cancel(FIN_OF(struct request, again, t)); }

// A request that is cancelled has a timer for as long as the kernel has the request or its cancellation: by that the child
// of a fork finds it.
static void cancel_again_at(struct request *r, uint64_t when) {
    fin_timer_remove(&r->again);
    fin_timer_add(r->io, &r->again, when, try_again);
}

// What is cancelled stays in the kernel's table until its end is worked on, of which a system call does no more than twenty
// (Linux 6.18). Of many that are cancelled together each would be looked for behind all before it: those that went down come
// to their ends before more do.
static void take_ends(struct io *io) {
    struct io_uring_sq *sq = &io->uring.ring.sq;
    enter(io, 0);
    for (unsigned n = *sq->kring_entries; n > 0 && *sq->kflags & IORING_SQ_TASKRUN; n--)
        enter(io, 0);
}

static void queue_cancel(struct request *r) {
    struct io_uring_sqe *e = fin_uring_entry(r->io);
    e->opcode = IORING_OP_ASYNC_CANCEL;
    e->fd = -1;
    e->addr = (uint64_t)(uintptr_t)r | r->tag;
    e->user_data = (uint64_t)(uintptr_t)r | ((r->tag & TO_KIND) + 1u);
}

// What makes room for the entry may meet the end of the request, which then has to wait for the cancellation's.
void fin_uring_send_cancel(struct request *r) {
    r->pending |= CANCEL;
    cancel_again_at(r, UINT64_MAX);
    if (io_uring_sq_space_left(&r->io->uring.ring) == 0)
        take_ends(r->io);
    queue_cancel(r);
}

// A request that nobody cancels ends all the same, and is made again (again.c).
bool fin_uring_nudge(struct request *r) {
    if (io_uring_sq_space_left(&r->io->uring.ring) == 0)
        return false;
    fin_accept_over(r);
    r->pending |= CANCEL;
    queue_cancel(r);
    return true;
}

// Of a request that is cancelled where something completes: to make room would take up what else has, inside of that, and so
// on. Timers run when all is taken up.
void fin_uring_send_cancel_soon(struct request *r) {
    if (io_uring_sq_space_left(&r->io->uring.ring) > 0)
        fin_uring_send_cancel(r);
    else
        cancel_again_at(r, fin_now());
}

// Its place may be another request's by now: places are counted in 32 bits, and a request may be in flight while all of them
// are used.
bool fin_uring_unseen(const struct request *r) {
    const struct io_uring_sq *sq = &r->io->uring.ring.sq;
    if (FIN_UNLIKELY(r->io->parents))
        return true;
    bool queued = r->position - *sq->khead < sq->sqe_tail - *sq->khead;
    return queued && sq->sqes[r->position & *sq->kring_mask].user_data == ((uint64_t)(uintptr_t)r | r->tag);
}

static void make_nothing(struct io_uring_sqe *e) {
    memset(e, 0, sizeof *e);
    e->opcode = IORING_OP_NOP;
    e->user_data = TO_NOBODY;
}

// Takes back a request that the kernel has not seen.
bool fin_uring_withdraw(struct request *r) {
    struct io_uring_sq *sq = &r->io->uring.ring.sq;
    if (!fin_uring_unseen(r))
        return false;
    if (FIN_LIKELY(!r->io->parents))
        make_nothing(&sq->sqes[r->position & *sq->kring_mask]);
    r->pending = 0;
    r->withdrawn = true;
    return true;
}

// In the child of a fork, to which no completion comes.
static void end_without(struct request *r) {
    bool undone = r->pending & RESULT;
    r->pending = 0;
    r->withdrawn = undone;
    fin_io_resume(r->io, &r->waiter, undone ? -ECANCELED : r->waiter.result);
}

void fin_uring_cancel(void *request) {
    struct request *r = request;
    r->cancelled = true;
    if (r->pending & RESULT)
        fin_accept_over(r);
    r->again.order = 0;
    if (FIN_UNLIKELY(r->pending & CANCEL)) // a nudge, whose end is that of the request
        r->io->parents ? end_without(r) : cancel_again_at(r, UINT64_MAX);
    else if (!(r->pending & RESULT))
        return;
    else if (fin_uring_withdraw(r))
        fin_io_resume(r->io, &r->waiter, -ECANCELED);
    else if (r->call->op != IORING_OP_CLOSE) // one that has begun releases the descriptor, whatever becomes of it
        fin_uring_send_cancel(r);
    else
        cancel_again_at(r, UINT64_MAX);
}

static void vectors_written(const struct call *c, size_t n) {
    struct msghdr m = {.msg_iov = (struct iovec *)c->addr, .msg_iovlen = c->len};
    if (c->op == IORING_OP_RECVMSG) {
        fin_track_written((void *)c->addr, sizeof m);
        m = *(const struct msghdr *)c->addr;
        fin_track_written(m.msg_name, m.msg_namelen);
        fin_track_written(m.msg_control, m.msg_controllen);
    }
    for (size_t i = 0; i < (size_t)m.msg_iovlen && n; i++) {
        size_t part = m.msg_iov[i].iov_len < n ? m.msg_iov[i].iov_len : n;
        fin_track_written(m.msg_iov[i].iov_base, part);
        n -= part;
    }
}

void fin_uring_written(const struct call *c, int result) {
    if (FIN_LIKELY(!fin_on_valgrind) || result < 0)
        return;
    socklen_t *size = (socklen_t *)(uintptr_t)c->off;
    if (c->op == IORING_OP_READV || c->op == IORING_OP_RECVMSG)
        vectors_written(c, (size_t)result);
    else if (c->op == IORING_OP_READ || c->op == IORING_OP_RECV || c->op == IORING_OP_READ_FIXED)
        fin_track_written((void *)c->addr, (size_t)result);
    else if (c->op == IORING_OP_ACCEPT && size)
        fin_track_written((void *)c->addr, *size);
    else if (c->op == IORING_OP_GETXATTR || c->op == IORING_OP_FGETXATTR)
        fin_track_written((void *)(uintptr_t)c->off, (uint32_t)result < c->len ? (size_t)result : c->len);
    else if (c->op == IORING_OP_STATX)
        fin_track_written((void *)(uintptr_t)c->off, 256);
}

// A request that has its result and a buffer still in use (zero-copy) is not cancelled any more: the release always comes.
static void completed(struct request *r, int result, uint32_t flags) {
    if (FIN_UNLIKELY(fin_on_valgrind) && !(flags & IORING_CQE_F_NOTIF))
        fin_uring_written(r->call, result);
    if (flags & IORING_CQE_F_NOTIF) {
        r->pending &= (uint8_t)~RELEASE;
    } else {
        r->waiter.result = result;
        r->flags = flags;
        r->pending &= (uint8_t)~RESULT;
        r->pending |= flags & IORING_CQE_F_MORE ? RELEASE : 0;
        fin_accept_over(r);
        if (r->tag & TO_FD && result >= 0)
            r->position = fin_io_hold(r->io, result);
        if (r->cancelled && !(r->pending & CANCEL))
            fin_timer_remove(&r->again);
    }
    if (!r->pending)
        fin_io_resume(r->io, &r->waiter, r->waiter.result);
}

// A request may be between two places where a cancellation finds it, or at work in a kernel thread that is interrupted but
// may go on waiting; so where none was found the request is looked for again.
void fin_uring_cancel_completed(struct request *r, int result) {
    r->pending &= (uint8_t)~CANCEL;
    if (!(r->pending & RESULT))
        fin_timer_remove(&r->again);
    else if (result < 0 && r->tag & TO_FD && fin_accept_nudged(r, r->call) && !r->cancelled)
        fin_accept_lists(r);
    else if (result < 0)
        cancel_again_at(r, fin_now() + (FIN_MS << r->tries));
    r->tries += r->tries < MOST_TRIES;
}

static void cancel_completed(struct request *r, int result) {
    fin_uring_cancel_completed(r, result);
    if (!r->pending)
        fin_io_resume(r->io, &r->waiter, r->waiter.result);
}

// As far as the child is concerned. Of objects there is nothing to say there, unless somebody waits for their end.
static void end_in_child(struct fin_timer *t) {
    struct request *r = FIN_OF(struct request, again, t);
    switch (r->tag & TO_KIND) {
    case TO_STEP:
        fin_linked_in_child((struct step *)r);
        break;
    case TO_SHOT:
        r->pending = 0;
        if (((struct shot *)r)->stopping)
            fin_io_resume(r->io, &r->waiter, 0);
        break;
    default:
        end_without(r);
    }
}

void fin_uring_cancelled_in_child(struct io *parents) { fin_timers_take(parents, try_again, end_in_child); }

// The thread ends: frames and objects may be gone. A descriptor that nobody will hear of is closed.
static void dispatch_late(struct io *io, uint64_t data, int result) {
    if (data == TO_WAKE) {
        io->uring.wake_armed = false;
        if (result > 0)
            fin_io_woken(io); // or the thread that takes this over would never be woken
    } else if ((data & TO_KIND) == TO_MESSAGE && result >= 0) {
        fin_message_late(io, (const void *)(uintptr_t)(data & ~(uint64_t)TO_TAG));
    } else if ((data & TO_FD) && result >= 0) {
        close(result);
    }
}

static __attribute__((noinline)) void dispatch_any(struct io *io, uint64_t data, int result, uint32_t flags) {
    struct request *r = (struct request *)(uintptr_t)(data & ~(uint64_t)TO_TAG);
    if (FIN_UNLIKELY(io->ending)) {
        dispatch_late(io, data, result);
        return;
    }
    switch (data & TO_KIND) {
    case TO_REQUEST:
        if (data != TO_NOBODY)
            completed(r, result, flags);
        break;
    case TO_CANCEL:
        if (data != TO_WAKE) {
            cancel_completed(r, result);
        } else {
            io->uring.wake_armed = false;
            if (result > 0) {
                fin_io_woken(io);
                fin_accepts_heard(io);
            }
            if (result == -EBADF)
                fin_host_die(CLOSED);
        }
        break;
    case TO_MESSAGE:
        fin_message_of(r->call)->came = result >= 0;
        completed(r, result, flags);
        break;
    case TO_MESSAGE_CANCEL:
        cancel_completed(r, result);
        break;
    case TO_SHOT:
        fin_shot_completed((struct shot *)r, result, flags);
        break;
    case TO_SHOT_CANCEL:
        fin_shot_cancel_completed((struct shot *)r, result);
        break;
    default:
        fin_linked_completed((struct step *)r, (data & TO_KIND) == TO_STEP_CANCEL, result);
    }
}

static inline void dispatch_one(struct io *io, uint64_t data, int result, uint32_t flags) {
    struct request *r = (struct request *)(uintptr_t)data;
    io->uring.in_flight -= !(flags & IORING_CQE_F_MORE);
    if (data & TO_TAG || flags & (IORING_CQE_F_MORE | IORING_CQE_F_NOTIF) || FIN_UNLIKELY(!r || io->ending) ||
        FIN_UNLIKELY(r->cancelled)) {
        dispatch_any(io, data, result, flags);
        return;
    }
    if (FIN_UNLIKELY(fin_on_valgrind))
        fin_uring_written(r->call, result);
    r->flags = flags;
    r->pending = 0;
    fin_io_resume(io, &r->waiter, result);
}

// Each is taken off before it is dispatched: what that starts may find the submission queue full, and come here again.
static void reap(struct io *io) {
    struct io_uring_cq *cq = &io->uring.ring.cq;
    unsigned head, taken = 0;
    while ((head = *cq->khead) != io_uring_smp_load_acquire(cq->ktail)) {
        const struct io_uring_cqe *c = &cq->cqes[head & cq->ring_mask];
        uint64_t data = c->user_data;
        int result = c->res;
        uint32_t flags = c->flags;
        io_uring_smp_store_release(cq->khead, head + 1);
        taken++;
        dispatch_one(io, data, result, flags);
    }
    io->rt->stats.completions += taken;
}

// Valgrind lets no other thread run while one waits in the ring.
static int wait_on_valgrind(struct io *io, int64_t ns) {
    io->rt->stats.entered++;
    struct pollfd p = {.fd = io->fd, .events = POLLIN};
    struct timespec t = {.tv_sec = ns / (int64_t)FIN_S, .tv_nsec = ns % (int64_t)FIN_S};
    int r = io_uring_submit_and_get_events(&io->uring.ring);
    if (r >= 0 && !io_uring_cq_ready(&io->uring.ring)) {
        ppoll(&p, 1, ns < 0 ? NULL : &t, NULL);
        r = io_uring_get_events(&io->uring.ring);
    }
    return r;
}

// A send that would go down alone is made without the ring: that is one system call as well, and comes to the same, an error
// too. Where something has completed the kernel is entered for that.
static bool send_alone(struct io *io) {
    struct io_uring_sq *sq = &io->uring.ring.sq;
    unsigned place = sq->sqe_tail - 1;
    const struct io_uring_sqe *e = &sq->sqes[place & sq->ring_mask];
    if (*sq->ktail != place || *sq->khead != place || e->opcode != IORING_OP_SEND || e->flags || e->ioprio || e->addr2)
        return false;
    if (!(e->msg_flags & MSG_DONTWAIT) || *sq->kflags & (IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN))
        return false;
    uint64_t data = e->user_data;
    int r = fin_io_result(send(e->fd, (const void *)(uintptr_t)e->addr, e->len, (int)e->msg_flags | MSG_NOSIGNAL));
    sq->sqe_tail--;
    io->rt->stats.completions++;
    dispatch_one(io, data, r, 0);
    return true;
}

// What the kernel itself says of a descriptor that is no ring, or another thread's; the rest is for others to say.
static _Noreturn void die_of(int error) {
    char text[sizeof DENIED + 64];
    snprintf(text, sizeof text, DENIED, strerror(-error));
    bool closed = error == -EBADF || error == -EOPNOTSUPP || error == -EINVAL || error == -EEXIST || error == -ENXIO;
    fin_host_die(error == -EBADR ? LOST : closed ? CLOSED : text);
}

// Of a chain the kernel may take a part, where it has no memory for more.
static __attribute__((noinline)) void some_stay(struct io *io) {
    const struct io_uring_sq *sq = &io->uring.ring.sq;
    uint64_t data = sq->sqes[*sq->khead & sq->ring_mask].user_data;
    if ((data & TO_KIND) == TO_STEP)
        fin_linked_cut((struct step *)(uintptr_t)(data & ~(uint64_t)TO_TAG));
}

// The one place where requests go down and completions come up. A request that did not go down stays queued.
static void enter(struct io *io, int64_t ns) {
    struct io_uring *ring = &io->uring.ring;
    int r = 0;
    if (FIN_UNLIKELY(io->parents)) { // as if it had gone down, and nothing were to come
        *ring->sq.khead = ring->sq.sqe_tail;
        return;
    }
    if (!io_uring_cq_ready(ring) && send_alone(io))
        return;
    if (ns == 0 || io_uring_cq_ready(ring)) {
        unsigned more = *ring->sq.kflags & (IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN);
        if (more || io_uring_sq_ready(ring)) {
            r = io_uring_submit_and_get_events(ring);
            io->rt->stats.entered++;
        }
    } else if (FIN_UNLIKELY(fin_on_valgrind)) {
        r = wait_on_valgrind(io, ns);
    } else if (ns < 0) {
        r = io_uring_submit_and_wait(ring, 1);
        io->rt->stats.entered++;
    } else {
        io->rt->stats.entered++;
        struct __kernel_timespec t = {.tv_sec = ns / (int64_t)FIN_S, .tv_nsec = ns % (int64_t)FIN_S};
        struct io_uring_cqe *c;
        r = io_uring_submit_and_wait_timeout(ring, &c, 1, &t, NULL);
    }
    // EBUSY: completions have to be taken first; EAGAIN: the kernel has no memory now
    if (r < 0 && r != -EINTR && r != -ETIME && r != -EBUSY && r != -EAGAIN)
        die_of(r);
    if (FIN_UNLIKELY(io_uring_sq_ready(ring)))
        some_stay(io);
    if (r == -EBUSY || r == -EAGAIN)
        io_uring_get_events(ring);
    reap(io);
}

static void look(struct io *io, int64_t ns) {
    struct uring *u = &io->uring;
    if (!u->wake_armed) {
        // Where room has to be made for it, what completes meanwhile can run by now, or is to be tried again at a time that
        // ns does not know of. (models/full.pml, sleep.pml)
        if (io_uring_sq_space_left(&u->ring) == 0)
            ns = 0;
        struct io_uring_sqe *e = fin_uring_entry(io);
        io_uring_prep_read(e, io->wake_fd, &u->wake_value, sizeof u->wake_value, 0);
        e->user_data = TO_WAKE;
        u->wake_armed = true;
    }
    enter(io, ns);
}

static void wait_until(struct io *io, uint64_t until) {
    for (uint64_t now; io->uring.in_flight && (now = fin_now()) < until;)
        enter(io, (int64_t)(until - now));
}

// What is still to go down would be done for nobody, with memory that may be gone. A descriptor is closed all the same.
static void drop_unseen(struct io_uring_sq *sq) {
    for (unsigned i = *sq->khead; i != sq->sqe_tail; i++) {
        struct io_uring_sqe *e = &sq->sqes[i & *sq->kring_mask];
        if (e->opcode != IORING_OP_CLOSE && e->opcode != IORING_OP_ASYNC_CANCEL && e->user_data != TO_WAKE)
            make_nothing(e);
    }
}

// Nothing may be in flight when the memory of the thread goes away, and no read of wake_fd: who closes it might wait for
// what that has taken (models/late.pml). Where AWEs are left that wait, all is cancelled, and again what was between two
// places: kernels before 5.19 cannot, and leave that to the ring's own end.
static void end(struct io *io) {
    struct uring *u = &io->uring;
    drop_unseen(&u->ring.sq);
    bool left = u->in_flight > u->wake_armed;
    if (u->wake_armed)
        fin_io_wake(io);
    while (u->wake_armed)
        enter(io, -1);
    for (unsigned tries = 0; u->in_flight && io->can.cancel_all; tries += tries < MOST_TRIES) {
        struct io_uring_sqe *e = fin_uring_entry(io);
        io_uring_prep_cancel64(e, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
        e->user_data = TO_NOBODY;
        wait_until(io, fin_now() + (FIN_MS << tries));
    }
    if (left)
        fin_accepts_unheard(NULL);
    io->fd = -1;
    fin_uring_unmap(&u->ring);
}

static bool expects(const struct io *io) { return io->uring.in_flight > io->uring.wake_armed; }

const struct backend fin_io_uring = {
    .expects = expects, .begin = fin_uring_begin, .end = end, .poll = look, .run = fin_uring_call};

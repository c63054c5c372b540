// SPDX-License-Identifier: BSD-2-Clause
// When a request is tried again: whoever waits for it, with a stack (request.c), with a continuation (on.c) or in a chain
// (linked.c), asks here what its result leads to.
#include <poll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "io/fixed.h"
#include "io/uring.h"

// How often what the ring got no thread for is tried again, before it is an error.
enum { MOST_UNSTARTED = 100 };

bool fin_uring_interrupted(int result) {
    return result == -EINTR || (result <= -512 && result >= -516); // the kernel's own ERESTART...
}

// The wait has ended, since the descriptor was ready, and it is still ready: no event will end what would block all the
// same, as a sum that an eventfd has no room for; or it cannot be asked. Otherwise somebody was faster.
static bool ready_for_ever(const struct tries *t, const struct io *io, const struct call *c, uint32_t events) {
    return t->was_ready && fin_io_ready_now(fin_descriptor(io, c), (int)events) != 0;
}

// What ended is a wait that a peer ended which has sent its last: the next one is for an epoll, as in poll.c. Where there
// can be none it is a pause.
static bool look_only_for(struct tries *t, struct io *io, const struct call *c, uint32_t events) {
    int epoll = fin_io_epoll_for(fin_descriptor(io, c), events);
    uint32_t place = epoll < 0 ? UINT32_MAX : fin_io_hold(io, epoll);
    if (epoll >= 0 && place == UINT32_MAX)
        close(epoll);
    t->only = place + 1;
    return t->only != 0;
}

static int epoll_of(const struct tries *t, const struct io *io) { return io->held.place[t->only - 1]; }

static void look_no_more(struct tries *t, struct io *io) {
    if (t->only) {
        close(epoll_of(t, io));
        fin_io_take(io, t->only - 1);
    }
    t->only = 0;
}

// A connection that has begun goes on. To a Unix socket none begins before there is room for it: who waits for that on a
// thread of the ring is interrupted where the process is stopped (SIGSTOP, a debugger).
static bool once_only(const struct call *c) {
    return c->op == IORING_OP_CONNECT && ((const struct sockaddr *)c->addr)->sa_family != AF_UNIX;
}

// A timer that is to be cancelled when the clock is set (timerfd_create(2)) tells a read of that in the same words, once.
static bool clock_was_set(const struct io *io, const struct call *c) {
    struct itimerspec t;
    return (c->op == IORING_OP_READ || c->op == IORING_OP_READV) && timerfd_gettime(fin_descriptor(io, c), &t) == 0;
}

// Nothing was received, and the buffer that was chosen for it has to be put back first: fin_buffers_lacked.
static bool has_buffer(const struct request *r, const struct call *c, int result) {
    return c->sqe_flags & IOSQE_BUFFER_SELECT && r->flags & IORING_CQE_F_BUFFER &&
           (result == -EAGAIN || fin_uring_interrupted(result));
}

static enum fin_next after(struct tries *t, bool polled, const struct request *r, const struct call *c, int *result) {
    uint32_t events = c->op == IORING_OP_POLL_ADD ? c->flags : fin_io_events(c);
    if (has_buffer(r, c, *result) || c->op == IORING_OP_CLOSE || (*result == -ECANCELED && clock_was_set(r->io, c))) {
        return FIN_OVER;
    } else if (*result == -ECANCELED && fin_accept_nudged(r, c)) {
        return FIN_CALL;
    } else if (*result == -ECANCELED) { // by nobody: the ring got no thread, be it that signals kept it from that
        if (++t->unstarted < MOST_UNSTARTED)
            return FIN_CALL;
        *result = -EAGAIN;
    } else if (fin_uring_interrupted(*result)) {
        if (once_only(c))
            return FIN_OVER;
        // A process may be stopped any number of times; what interrupts itself is not to keep the thread busy.
        t->interrupted += t->interrupted < MOST_INTERRUPTED;
        return t->interrupted < MOST_INTERRUPTED ? FIN_CALL : FIN_PAUSE;
    } else if (polled && *result >= 0) {
        t->was_ready = true;
        t->half = t->half || !fin_io_asked_for(*result, events);
        return FIN_CALL;
    } else if (*result == -EAGAIN && events && !polled) {
        // Descriptors in non-blocking mode make older kernels give up at once: an accept on 5.15. A send never waits.
        t->polls = !ready_for_ever(t, r->io, c, events) && (!t->half || look_only_for(t, r->io, c, events));
        return t->polls ? FIN_POLL : FIN_PAUSE;
    }
    if (*result == 0 && c->op == IORING_OP_POLL_ADD) {
        t->polls = look_only_for(t, r->io, c, events);
        return t->polls ? FIN_POLL : FIN_PAUSE;
    }
    return FIN_OVER;
}

static enum fin_next next_of(struct request *r, const struct call *c, int *result) {
    struct tries *t = &r->tried;
    bool polled = t->polls;
    t->polls = false;
    look_no_more(t, r->io);
    bool is_poll = c->op == IORING_OP_POLL_ADD;
    if (is_poll && !polled && *result > 0)
        *result = fin_io_asked_for(*result, c->flags);
    if (!r->cancelled) {
        enum fin_next next = after(t, polled, r, c, result);
        if (next == FIN_OVER || !fin_io_closed(c))
            return next;
        look_no_more(t, r->io);
        *result = -EBADF;
        return FIN_OVER;
    }
    // Nothing was done yet, and what came next no cancel would end.
    if ((polled && *result >= 0) || (is_poll && *result == 0))
        *result = -ECANCELED;
    return FIN_OVER;
}

enum fin_next fin_uring_next(struct request *r, const struct call *c, int *result) {
    bool nudged = r->tried.nudged = r->tried.nudged || fin_accept_nudged(r, c);
    enum fin_next next = next_of(r, c, result);
    if (FIN_UNLIKELY(nudged) && next == FIN_OVER && *result != -ECANCELED)
        fin_accept_more(r->io, c);
    return next;
}

struct call fin_uring_poll_for(const struct request *r, const struct call *c) {
    if (r->tried.only)
        return (struct call){.op = IORING_OP_POLL_ADD, .fd = epoll_of(&r->tried, r->io), .flags = POLLIN};
    return (struct call){
        .op = IORING_OP_POLL_ADD, .fd = c->fd, .flags = fin_io_events(c), .sqe_flags = c->sqe_flags & IOSQE_FIXED_FILE};
}

// SPDX-License-Identifier: BSD-2-Clause
// One request, one result: from the call to its return. (models/cancel.pml)
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/cached.h"
#include "io/fixed.h"
#include "io/linked.h"
#include "io/message.h"
#include "io/uring.h"

// The fields of a call are those of an entry, and lie where those do, as far as this.
enum { SAME_SIZE = offsetof(struct io_uring_sqe, user_data) };
#define SAME(a, b) _Static_assert(offsetof(struct call, a) == offsetof(struct io_uring_sqe, b), #a " is copied with others")
SAME(op, opcode);
SAME(sqe_flags, flags);
SAME(ioprio, ioprio);
SAME(fd, fd);
SAME(off, off);
SAME(addr, addr);
SAME(len, len);
SAME(flags, rw_flags);
_Static_assert(offsetof(struct call, buf_index) == 4 * sizeof(uint64_t), "the fifth begins with it");
_Static_assert(SAME_SIZE == 4 * sizeof(uint64_t), "it is four words");

// A ring that waits for room for a datagram of a Unix socket goes on where the first attempt stopped taking its data, at the
// end: what goes out is empty (Linux 6.18). So a send does not wait there, but is tried again; chains end early and go on.
// With MSG_WAITALL one of a stream waits, where that says how much is wanted; of anything else it says nothing.
static uint32_t send_flags(const struct io *io, const struct call *c, bool in_chain) {
    if (in_chain)
        return c->flags | MSG_DONTWAIT;
    if (c->flags & MSG_WAITALL && io->can.tells_part) {
        if (fin_socket_option(fin_descriptor(io, c), SO_TYPE) == SOCK_STREAM)
            return c->flags;
    }
    return (c->flags & ~(uint32_t)MSG_WAITALL) | MSG_DONTWAIT;
}

// Before Linux 6.1 the part that was done before an error or a cancel is lost: there MSG_WAITALL is not said to the kernel.
static uint32_t flags_of(const struct io *io, const struct call *c, bool in_chain) {
    if (c->op == IORING_OP_SEND)
        return send_flags(io, c, in_chain);
    return fin_io_all(c) && !io->can.tells_part ? c->flags & ~(uint32_t)MSG_WAITALL : c->flags;
}

void fin_uring_start(struct request *r, uint8_t kind) {
    const struct call *c = r->call;
    entry_word *e = fin_uring_submit(r, r->io, fin_uring_place(r->io), kind | (fin_io_makes_descriptor(c->op) ? TO_FD : 0));
    r->pending |= RESULT;
    memcpy(e, c, SAME_SIZE);
    e[3] = (uint64_t)flags_of(r->io, c, kind == TO_STEP) << 32 | c->len;
    e[5] = c->buf_index | (uint64_t)c->file_index << 32;
    e[6] = c->addr3;
    e[7] = 0;
    if (c->op == IORING_OP_ACCEPT)
        fin_accept_begins(r);
}

static FIN_BLOCKING int uring_once(struct request *r, const struct call *c) {
    r->call = c;
    if (FIN_UNLIKELY(c->message))
        fin_message_of(c)->request = r;
    fin_uring_start(r, c->message ? TO_MESSAGE : TO_REQUEST);
    fin_io_suspend(&r->waiter);
    if (r->tag & TO_FD && r->waiter.result >= 0)
        fin_io_take(r->io, r->position);
    return r->waiter.result;
}

static FIN_BLOCKING int once_later(struct request *r, const struct call *c) {
    int error = fin_io_pause(c->nc);
    return error ? error : r->cancelled ? -ECANCELED : fin_io_closed(c) ? -EBADF : uring_once(r, c);
}

// What the first attempt came to is looked at, and others follow where that is no result yet.
static FIN_BLOCKING int attempts(struct request *r, const struct call *c, int result) {
    struct call poll;
    if (FIN_LIKELY(result >= 0)) {
        if (FIN_UNLIKELY(fin_accept_nudged(r, c)))
            fin_accept_more(r->io, c);
        return result;
    }
    r->tried = (struct tries){0};
    for (;;) {
        switch (fin_uring_next(r, c, &result)) {
        case FIN_CALL:
            result = uring_once(r, c);
            break;
        case FIN_POLL:
            poll = fin_uring_poll_for(r, c);
            result = uring_once(r, &poll);
            break;
        case FIN_PAUSE:
            result = once_later(r, c);
            break;
        case FIN_OVER:
            return result;
        }
    }
}

// What has the flag and cannot tell, pipes before Linux 6.4, is asked whether it is ready.
static int without_waiting(struct io *io, const struct call *call) {
    bool fixed = call->sqe_flags & IOSQE_FIXED_FILE;
    struct call c = *call, rest;
    int done;
    if (fixed ? !io->files->slot[call->fd].number : fin_io_closed(call))
        return -EBADF; // the descriptor may be another's
    c.fd = fin_descriptor(io, call);
    c.sqe_flags = 0;
    enum fin_io_kind kind = fin_io_kind_of(c.fd);
    return kind == FIN_IO_FILE && fin_io_try_file(io, &c, &rest, &done) ? done : fin_io_try(&c, kind, false);
}

// A close that the ring got no thread for, which some file systems want, has not begun: it is made here, or no descriptor
// could be given back where there can be no more threads.
static int close_failed(const struct call *c, int result) {
    if (result == -ECANCELED && fcntl(c->fd, F_GETFD) >= 0)
        result = fin_io_result(close(c->fd));
    return fin_close_result(result);
}

static int ended_by_cancel(const struct request *r, const struct call *c) {
    if (r->withdrawn && !(c->op == IORING_OP_ACCEPT && r->tried.nudged))
        return -ECANCELED;
    return c->op == IORING_OP_CONNECT  ? fin_io_connect_ended(r->io, c)
           : c->op == IORING_OP_ACCEPT ? fin_accept_cancelled(r->io, c)
                                       : -ECANCELED;
}

int fin_uring_failed(const struct request *r, const struct call *c, int result) {
    if (c->op == IORING_OP_CLOSE && !r->withdrawn)
        return close_failed(c, result);
    bool vectors = c->op == IORING_OP_READV || c->op == IORING_OP_WRITEV;
    if (result == -EOPNOTSUPP && vectors && c->flags & RWF_NOWAIT)
        return without_waiting(r->io, c);
    bool interrupted = fin_uring_interrupted(result);
    bool connects = c->op == IORING_OP_CONNECT;
    bool waits = (result == -EAGAIN && (fin_io_events(c) || connects)) || (result == -EINPROGRESS && connects);
    if (r->cancelled && (result == -ECANCELED || interrupted || waits))
        return ended_by_cancel(r, c);
    if (interrupted)
        return -EINTR;
    return connects ? fin_io_connect_failed(r->io, c, result) : result;
}

int fin_uring_run(struct io *io, const struct call *c, uint32_t *flags) {
    struct request r;
    r.io = io;
    r.pending = r.tries = 0;
    r.cancelled = r.withdrawn = false;
    *flags = r.flags = 0;
    if (!c->nc) {
        fin_cancel_add(&r.waiter.item, fin_uring_cancel, &r);
        if (fin_cancel_item_ran(&r.waiter.item))
            return -ECANCELED;
    }
    int result = attempts(&r, c, uring_once(&r, c));
    if (!c->nc)
        fin_cancel_remove(&r.waiter.item);
    *flags = r.flags;
    return FIN_LIKELY(result >= 0) ? result : fin_uring_failed(&r, c, result);
}

static FIN_BLOCKING int close_it(struct io *io, const struct call *c) {
    uint32_t flags;
    if (!c->nc && fin_cancelled())
        return -ECANCELED;
    uint64_t begun = fin_close_begins(c->fd);
    if (FIN_UNLIKELY(fin_close_is_linked(c->fd)))
        fin_linked_closes(io, c->fd);
    int r = fin_uring_run(io, c, &flags);
    fin_close_ends(c->fd, begun, r != -ECANCELED);
    return r;
}

// To a socket an empty datagram is something, and devices may have a use for it, too: these are the ring's.
static bool may_mean_something(const struct call *c) {
    struct stat s;
    return c->op == IORING_OP_WRITE && fstat(c->fd, &s) == 0 && (S_ISSOCK(s.st_mode) || S_ISCHR(s.st_mode));
}

static FIN_BLOCKING int nothing(struct io *io, const struct call *c) {
    struct call plain = *c;
    uint32_t flags;
    plain.fd = fin_descriptor(io, c);
    if (may_mean_something(&plain))
        return fin_uring_run(io, c, &flags);
    return !c->nc && fin_cancelled() ? -ECANCELED : fin_io_direct(&plain);
}

int fin_uring_call(struct io *io, const struct call *c) {
    uint32_t flags;
    ino_t file;
    if (FIN_UNLIKELY(c->op == IORING_OP_CLOSE))
        return close_it(io, c);
    if (FIN_UNLIKELY(c->op >= FIN_OP_POOL || !(io->can.ops >> c->op & 1)))
        return fin_io_by_pool(io, c);
    if (FIN_UNLIKELY(fin_io_nothing(c)))
        return nothing(io, c);
    if (FIN_UNLIKELY(c->op == IORING_OP_TEE || (c->op == IORING_OP_SPLICE && !fin_io_splices_file(c))))
        return !c->nc && fin_cancelled() ? -ECANCELED : fin_io_splice(io, c, false);
    if (FIN_UNLIKELY(fin_io_of_file(io, c, &file)))
        return fin_io_file_here(io, c, file);
    return fin_uring_run(io, c, &flags);
}

// What a quick call has in its frame: the AWE on one cache line, the call on the one before, and what a completion and the
// return need on one behind. With many in flight each line is a miss.
struct frame {
    struct call call;
    void *unused; // this and the next: so that the lines begin where they do
    struct fin_awe awe;
    void *unused_too;
    struct request request;
};
enum { AWE_AT = offsetof(struct frame, awe) };
_Static_assert(AWE_AT <= 64, "of a line");
_Static_assert(offsetof(struct frame, request.waiter) - AWE_AT == 128, "a line begins");
_Static_assert(offsetof(struct frame, request.again) - AWE_AT <= 192, "and ends");

#define FRAME_HERE_(f)                                                                                                      \
    char f##room[sizeof(struct frame) + 48] __attribute__((aligned(16)));                                                   \
    struct frame *f = (struct frame *)((((uintptr_t)f##room + AWE_AT + 48) & ~(uintptr_t)63) - AWE_AT)

static __attribute__((noinline)) FIN_BLOCKING int not_yet(struct frame *f) {
    struct request *r = &f->request;
    int result = attempts(r, &f->call, r->waiter.result);
    if (r->waiter.item.link.next)
        fin_link_remove(&r->waiter.item.link);
    return result < 0 ? fin_uring_failed(r, &f->call, result) : result;
}

// Words go from registers to the frame and to the entry: fields that were just stored could be loaded as words only when
// they have reached the cache, and the frame is seldom there.
static inline FIN_BLOCKING __attribute__((always_inline)) long
quick(struct io *io, uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc, bool message, uint64_t more,
      uint16_t index) {
    FRAME_HERE_(f);
    struct request *r = &f->request;
    struct fin_runtime *rt = io->rt;
    struct fin_finish_block *b = written_block(rt->thread.current);
    entry_word *c = (entry_word *)&f->call;
    if (!nc && FIN_UNLIKELY(block_cancelled(b))) {
        rt->stats.cancelled++;
        return -ECANCELED;
    }
    entry_word *e = fin_uring_submit(r, io, fin_uring_place(io), message ? TO_MESSAGE : TO_REQUEST);
    e[0] = c[0] = head;
    e[1] = c[1] = off;
    e[2] = c[2] = addr;
    c[3] = tail;
    e[3] = tail | more;
    e[5] = c[4] = index;
    e[6] = c[5] = 0;
    e[7] = 0;
    f->call.since = fin_closes_now();
    f->call.nc = nc;
    f->call.message = message;
    if (message)
        fin_message_of(&f->call)->request = r;
    r->io = io;
    r->call = &f->call;
    r->pending = RESULT;
    r->tries = 0;
    r->cancelled = r->withdrawn = false;
    r->waiter.item.link.next = NULL;
    if (!nc) {
        r->waiter.item.fn = fin_uring_cancel;
        r->waiter.item.arg = r;
        cancel_link(b, &r->waiter.item);
    }
    fin_io_count_wait(rt);
    FIN_ARCH_BLOCK_(fin_core_await_, &f->awe, &rt->thread, &r->waiter.awe, 0);
    int result = r->waiter.result;
    if (FIN_UNLIKELY(result < 0))
        return not_yet(f);
    if (r->waiter.item.link.next)
        fin_link_remove(&r->waiter.item.link);
    return result;
}

int fin_uring_read_at_once(struct io *io, int fd, uint64_t addr, uint32_t size, uint64_t off, uint32_t flags, bool nc) {
    int r = -EAGAIN;
    if (nc || !block_cancelled(written_block(io->rt->thread.current)))
        r = fin_io_read_cached(io, fd, (void *)(uintptr_t)addr, size, off, flags);
    if (r >= 0)
        fin_io_let_others_run(io);
    return r;
}

static __attribute__((noinline)) FIN_BLOCKING long read_file(struct io *io, uint64_t head, uint64_t off, uint64_t addr,
                                                             uint64_t tail, bool nc) {
    int r = fin_uring_read_at_once(io, (int)(head >> 32), addr, (uint32_t)tail, off, (uint32_t)(tail >> 32), nc);
    return r < 0 ? fin_uring_quick(io, head, off, addr, tail, nc) : r;
}

long fin_uring_quick_read(struct io *io, uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc) {
    return (fin_io_is_alone(io) ? read_file : fin_uring_quick)(io, head, off, addr, tail, nc);
}

long fin_uring_quick(struct io *io, uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc) {
    return quick(io, head, off, addr, tail, nc, false, 0, 0);
}

// As flags_of().
static inline uint64_t told(const struct io *io, uint64_t tail) {
    return FIN_LIKELY(io->can.tells_part) ? tail : tail & ~((uint64_t)MSG_WAITALL << 32);
}

long fin_uring_quick_transfer(struct io *io, uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc) {
    return fin_uring_quick(io, head, off, addr, told(io, tail), nc);
}

long fin_uring_quick_message(struct io *io, uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc) {
    return quick(io, head, off, addr, told(io, tail), nc, true, 0, 0);
}

long fin_uring_quick_send(struct io *io, uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc) {
    if (FIN_UNLIKELY(tail >> 32 & MSG_WAITALL))
        return fin_io_run_words(head, off, addr, tail, nc);
    return quick(io, head, off, addr, tail, nc, false, (uint64_t)MSG_DONTWAIT << 32, 0);
}

long fin_uring_quick_fixed(struct io *io, uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc,
                           uint16_t index) {
    return quick(io, head, off, addr, tail, nc, false, 0, index);
}

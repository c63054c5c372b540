// SPDX-License-Identifier: BSD-2-Clause
// Waits with a continuation. What the functions that block keep in their frame lies in the program's struct fin_on, and what
// they do when they go on is done where the completion arrives.
#include <fin/on.h>

#include <poll.h>

#include "core/cont.h"
#include "io/buffers.h"
#include "io/cached.h"
#include "io/call.h"
#include "io/message.h"

// Of a wait of the library's: who ends it goes on with this, and makes the AWE run. NULL: that is all there is to do.
struct then {
    void (*fn)(void *arg, struct fin_awe *a, int result);
    void *arg;
};

struct on {
    struct request request; // first: its waiter has no AWE
    struct fin_awe *awe;
    struct then then;
    struct call call;
}; // while no request is in flight its timer is that of its delay

struct on_timer {
    struct sleeper sleeper; // first
    struct fin_awe *awe;
};

// Where only epoll is available: the call is tried, and when the descriptor is ready tried again.
struct on_ready {
    struct ready_waiter ready; // first
    struct fin_awe *awe;
    struct then then;
    struct call call;
    enum fin_io_kind kind;
    struct fin_timer delay;
};

_Static_assert(sizeof(struct on) + _Alignof(struct on) - _Alignof(struct fin_on) <= sizeof(struct fin_on), "room");
_Static_assert(sizeof(struct on_timer) <= sizeof(struct fin_on), "and for a timer");
_Static_assert(sizeof(struct on_ready) <= sizeof(struct fin_on), "and for a descriptor to be ready");

static struct on *on_of(struct fin_on *storage) {
    return (struct on *)(((uintptr_t)storage + _Alignof(struct on) - 1) & ~(uintptr_t)(_Alignof(struct on) - 1));
}

static void start_call(struct on *on) {
    on->request.call = &on->call;
    if (FIN_UNLIKELY(on->call.message))
        fin_message_of(&on->call)->request = &on->request;
    fin_uring_start(&on->request, on->call.message ? TO_MESSAGE : TO_REQUEST);
}

static void start_poll(struct on *on) {
    static const struct call poll = {.op = IORING_OP_POLL_ADD};
    struct call c = fin_uring_poll_for(&on->request, &on->call);
    on->request.call = &c;
    fin_uring_start(&on->request, TO_REQUEST);
    on->request.call = &poll; // what is looked at from now on
}

static struct fin_cancel_item *delay(struct on *on, uint64_t when);

static void start(struct on *on) { on->request.tried.polls ? start_poll(on) : start_call(on); }

// What completes starts no more than the queue has room for: to make room would take up what else has completed, from here,
// and so on, on a stack that ends. Timers run when all is taken up.
static bool again(struct on *on, int *result) {
    switch (fin_uring_next(&on->request, &on->call, result)) {
    case FIN_CALL:
    case FIN_POLL:
        if (io_uring_sq_space_left(&on->request.io->uring.ring) > 0)
            start(on);
        else
            delay(on, fin_now());
        return true;
    case FIN_PAUSE:
        delay(on, fin_io_after(FIN_MS));
        return true;
    case FIN_OVER:
        break;
    }
    return false;
}

static bool is_recognized(const struct call *c, int result) { return result != -ECANCELED && c->op != IORING_OP_POLL_ADD; }

// All is done; after a wait for readiness, nothing. The continuation is told how it ended (continuations 2.1: recognition).
static void over(struct io *io, struct fin_awe *awe, const struct then *then, const struct call *c, int result) {
    if (then->fn) {
        then->fn(then->arg, awe, result);
        return;
    }
    io->rt->known[FIN_FOR_IO] += !then->arg && is_recognized(c, result);
    (fin_io_makes_descriptor(c->op) ? fin_cont_done_descriptor : fin_cont_done)(io->rt, awe, result);
}

static int try_now(const struct call *c, enum fin_io_kind kind, bool waited) {
    int r;
    do
        r = c->op == IORING_OP_POLL_ADD ? fin_io_ready_now(c->fd, (int)c->flags) : fin_io_try(c, kind, waited);
    while (r == -EINTR);
    if (c->message)
        fin_message_of(c)->came = r >= 0;
    return r == 0 && c->op == IORING_OP_POLL_ADD ? -EAGAIN : r;
}

static uint32_t events_of(const struct call *c) { return c->op == IORING_OP_POLL_ADD ? c->flags : fin_io_events(c); }

static void try_later(struct on_ready *on);

// It waits again, or goes on with the result.
static void ready(struct on_ready *on, int result) {
    struct io *io = on->ready.io;
    if (result == 0)
        result = fin_io_closed(&on->call) ? -EBADF : try_now(&on->call, on->kind, true);
    if (result == -EAGAIN && fin_io_ready_now(on->call.fd, (int)on->ready.events) != 0) {
        try_later(on);
        return;
    }
    if (result == -EAGAIN && (result = fin_epoll_wait_for(&on->ready, on->call.fd)) == 0)
        return;
    over(io, on->awe, &on->then, &on->call, result);
}

void fin_on_completed(struct io *io, struct waiter *w) {
    struct on *on = FIN_OF(struct on, request.waiter, w);
    int result = w->result;
    if (w->item.fn == fin_uring_cancel && result >= 0) { // the usual ends
        if (on->then.fn) {
            on->then.fn(on->then.arg, on->awe, result);
            return;
        }
        if (FIN_LIKELY(on->request.first)) {
            io->rt->known[FIN_FOR_IO]++;
            fin_cont_done(io->rt, on->awe, result);
            return;
        }
    }
    if (w->item.fn == fin_acceptor_cancel) {
        fin_acceptor_completed(io, w);
        return;
    }
    if (w->item.fn == fin_receiver_cancel) {
        fin_receiver_completed(io, w);
        return;
    }
    if (w->item.fn == fin_epoll_cancel) {
        ready((struct on_ready *)w, result);
        return;
    }
    if (w->item.fn == fin_io_cancel_sleep) {
        fin_cont_done(io->rt, ((struct on_timer *)w)->awe, result);
        return;
    }
    on->request.first = false;
    if (again(on, &result))
        return;
    if (result >= 0 && on->request.tag & TO_FD)
        fin_io_take(io, on->request.position);
    over(io, on->awe, &on->then, &on->call, result < 0 ? fin_uring_failed(&on->request, &on->call, result) : result);
}

static const struct then nothing, for_message = {NULL, (void *)&nothing}; // which is not recognized

static inline struct on *prepare(struct io *io, struct fin_on *storage, struct call c, struct then then) {
    struct on *on = on_of(storage);
    struct request *r = &on->request;
    on->call = c;
    on->call.since = fin_closes_now();
    on->then = then;
    r->waiter.awe = NULL;
    r->io = io;
    r->pending = r->tries = 0;
    r->flags = 0;
    r->tried = (struct tries){0};
    r->cancelled = r->withdrawn = false;
    r->first = !then.fn && !then.arg && c.op != IORING_OP_POLL_ADD && !fin_io_makes_descriptor(c.op);
    return on;
}

static struct on_ready *prepare_ready(struct io *io, struct fin_on *storage, const struct call *c, enum fin_io_kind kind,
                                      struct then then) {
    struct on_ready *on = (struct on_ready *)(void *)storage;
    on->call = *c;
    on->call.since = fin_closes_now();
    on->then = then;
    on->kind = kind;
    on->ready = (struct ready_waiter){.io = io, .events = events_of(c), .looks = c->op == IORING_OP_POLL_ADD};
    return on;
}

static void begin(struct fin_awe *a, void *arg) {
    struct on *on = arg;
    on->awe = a;
    start_call(on);
}

// 0: the wait can begin. In a cancelled block the continuation runs instead, unless that is not asked.
static int may_wait(struct io **io, bool nc, fin_cont *cont, const void *state, size_t size) {
    int r = fin_cont_begin(cont, size, !nc), error = r < 0 ? r : fin_io_here(io);
    if (error)
        return error;
    return r > 0 ? fin_cont_go_on(FIN_FOR_TURN, cont, state, size, -ECANCELED) : 0;
}

static struct fin_cancel_item *cancelled_by(struct waiter *w, void (*fn)(void *), void *arg) {
    w->item.fn = fn;
    w->item.arg = arg;
    return &w->item;
}

static void begin_ready(struct fin_awe *a, void *arg) {
    struct on_ready *on = arg;
    on->awe = a;
    int error = fin_epoll_wait_for(&on->ready, on->call.fd);
    if (error)
        ready(on, error);
}

// What has been done at once. It counts as a wait, as it does where the kernel is asked and does it at once.
static void begin_done(struct fin_awe *a, void *arg) {
    struct on_ready *on = arg;
    over(on->ready.io, a, &on->then, &on->call, on->ready.waiter.result);
}

static FIN_LEAVES_FRAME int done_at_once(enum fin_reason reason, struct io *io, struct fin_on *storage, const struct call *c,
                                         int result, fin_cont *cont, const void *state, size_t size) {
    if (!fin_io_makes_descriptor(c->op)) {
        io->rt->known[FIN_FOR_IO] += reason == FIN_FOR_IO && is_recognized(c, result);
        return fin_cont_go_on(reason, cont, state, size, result);
    }
    struct on_ready *on = prepare_ready(io, storage, c, FIN_IO_FILE, nothing);
    on->ready.waiter.result = result;
    return fin_cont_suspend(reason, cont, state, size, NULL, begin_done, on);
}

// A FIFO is not opened so that it waits: in the pool no cancel would end that.
static FIN_BLOCKING int run_now(const struct call *c) {
    if (c->op == IORING_OP_POLL_ADD) // it may take several waits
        return fin_io_poll(c->fd, (int)c->flags, c->nc);
    return c->op == IORING_OP_OPENAT ? fin_openat(c->fd, c->addr, (int)c->flags, c->len) : fin_io_run(*c);
}

static FIN_LEAVES_FRAME int with_stack(enum fin_reason reason, struct io *io, struct fin_on *storage, const struct call *c,
                                       const ino_t *file, fin_cont *cont, const void *state, size_t size) {
    struct fin_cont_record *held;
    if (!fin_cont_hold(&held))
        return -ENOMEM;
    int r = file ? fin_io_file_here(io, c, *file) : run_now(c);
    fin_cont_let_go(held);
    return done_at_once(reason, io, storage, c, r, cont, state, size);
}

// Where there is a position it is for a file, or the call says that it is not. As in epoll.c.
static enum fin_io_kind kind_of(const struct call *c) {
    switch (c->op) {
    case IORING_OP_POLL_ADD:
    case IORING_OP_RECV:
    case IORING_OP_SEND:
    case IORING_OP_RECVMSG:
    case IORING_OP_SENDMSG:
    case IORING_OP_ACCEPT:
        return FIN_IO_SOCKET;
    default:
        return fin_io_at_position(c->op, c->off) ? fin_io_kind_of(c->fd) : FIN_IO_FILE;
    }
}

static FIN_LEAVES_FRAME int wait_ready(enum fin_reason reason, struct io *io, struct fin_on *storage, const struct call *c,
                                       fin_cont *cont, const void *state, size_t size) {
    enum fin_io_kind kind = kind_of(c);
    if (kind == FIN_IO_FILE)
        return with_stack(reason, io, storage, c, NULL, cont, state, size);
    int r = try_now(c, kind, false);
    if (r != -EAGAIN || (c->op != IORING_OP_POLL_ADD && fin_io_events(c) == 0))
        return done_at_once(reason, io, storage, c, r, cont, state, size);
    struct on_ready *on = prepare_ready(io, storage, c, kind, reason == FIN_FOR_MESSAGE ? for_message : nothing);
    struct fin_cancel_item *item = cancelled_by(&on->ready.waiter, fin_epoll_cancel, &on->ready);
    return fin_cont_suspend(reason, cont, state, size, c->nc ? NULL : item, begin_ready, on);
}

static __attribute__((noinline)) FIN_LEAVES_FRAME int wait_for(enum fin_reason reason, struct fin_on *storage,
                                                               const struct call *c, fin_cont *cont, const void *state,
                                                               size_t size) {
    struct io *io;
    ino_t file;
    int error = may_wait(&io, c->nc, cont, state, size);
    if (error)
        return error;
    if (io->backend == &fin_io_epoll && c->fd < FIXED)
        return wait_ready(reason, io, storage, c, cont, state, size);
    bool ring = c->fd < FIXED && io->can.ops >> c->op & 1 && !fin_io_nothing(c);
    if (!ring || fin_io_of_file(io, c, &file))
        return with_stack(reason, io, storage, c, ring ? &file : NULL, cont, state, size);
    struct on *on = prepare(io, storage, *c, reason == FIN_FOR_MESSAGE ? for_message : nothing);
    struct fin_cancel_item *item = cancelled_by(&on->request.waiter, fin_uring_cancel, &on->request);
    return fin_cont_suspend(reason, cont, state, size, c->nc ? NULL : item, begin, on);
}

// wait_for() of an AWE that has waited before and owns nothing but its stack, where the ring is to do a call of four words:
// what those that it consists of ask in turn is asked at once. Words go from registers to the entry: request.c.
static inline FIN_LEAVES_FRAME __attribute__((always_inline)) int quick(struct fin_on *storage, const struct call c,
                                                                        fin_cont *cont, const void *state, size_t size) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_cont_record *e = begin_plain(rt, cont, size);
    struct io *io = FIN_LIKELY(e != NULL) ? (struct io *)rt->poller : NULL;
    bool other = fin_io_all(&c) || fin_io_nothing(&c) || fin_io_at_position(c.op, c.off);
    if (FIN_UNLIKELY(!io || c.fd >= FIXED || !(io->can.ops >> c.op & 1) || other)) {
        const struct call copy = c; // so that nobody has the address of c, and it is words in registers below
        return wait_for(FIN_FOR_IO, storage, &copy, cont, state, size);
    }
    int got = c.op == IORING_OP_READ ? fin_io_read_alone(io, c.fd, (void *)(uintptr_t)c.addr, c.len, c.off, c.flags) : -1;
    if (got >= 0)
        return fin_cont_call(cont, state, size, got);
    struct on *on = prepare(io, storage, c, nothing);
    entry_word *words = fin_uring_submit(&on->request, io, fin_uring_place(io), TO_REQUEST);
    words[0] = (uint64_t)(uint32_t)c.fd << 32 | c.op;
    words[1] = c.off;
    words[2] = (uint64_t)(uintptr_t)c.addr;
    words[3] = (uint64_t)(c.flags | (c.op == IORING_OP_SEND ? MSG_DONTWAIT : 0)) << 32 | c.len;
    words[5] = words[6] = words[7] = 0;
    on->request.call = &on->call;
    on->request.pending = RESULT;
    on->awe = awe_of(e);
    set_plain(e, cont, state, size);
    let_cancel(e, cancelled_by(&on->request.waiter, fin_uring_cancel, &on->request));
    expose_as(rt, e, FIN_AWE_BUSY);
    fin_cont_leave_to_next(rt, (struct fin_body *)rt->thread.current - 1, FIN_FOR_IO);
    return 0;
}

// ---- an operation that begins at its time: who ends the sleep begins it

static void delay_over(struct fin_timer *t) {
    struct on *on = FIN_OF(struct on, request.again, t);
    cancelled_by(&on->request.waiter, fin_uring_cancel, &on->request);
    if (fin_io_closed(&on->call))
        fin_io_resume(on->request.io, &on->request.waiter, -EBADF);
    else
        start(on);
}

static void cancel_delay(void *storage) {
    struct on *on = storage;
    fin_timer_remove(&on->request.again);
    on->request.cancelled = true;
    fin_io_resume(on->request.io, &on->request.waiter, -ECANCELED);
}

// Also of what is ready and would block all the same (again.c), and of what the queue has no room for.
static struct fin_cancel_item *delay(struct on *on, uint64_t when) {
    fin_timer_add(on->request.io, &on->request.again, when, delay_over);
    return cancelled_by(&on->request.waiter, cancel_delay, on);
}

static void begin_delay(struct fin_awe *a, void *on) { ((struct on *)on)->awe = a; }

static void delay_over_ready(struct fin_timer *t) {
    struct on_ready *on = FIN_OF(struct on_ready, delay, t);
    cancelled_by(&on->ready.waiter, fin_epoll_cancel, &on->ready);
    ready(on, 0);
}

static void cancel_delay_ready(void *storage) {
    struct on_ready *on = storage;
    fin_timer_remove(&on->delay);
    over(on->ready.io, on->awe, &on->then, &on->call, -ECANCELED);
}

// The same without a ring: as in try_and_wait().
static void try_later(struct on_ready *on) {
    cancelled_by(&on->ready.waiter, cancel_delay_ready, on);
    fin_timer_add(on->ready.io, &on->delay, fin_io_after(FIN_MS), delay_over_ready);
}

static void begin_delay_ready(struct fin_awe *a, void *on) { ((struct on_ready *)on)->awe = a; }

static FIN_LEAVES_FRAME int wait_until_for(struct fin_on *storage, uint64_t when, const struct call *c, fin_cont *cont,
                                           const void *state, size_t size) {
    struct io *io;
    int error = may_wait(&io, false, cont, state, size);
    if (error)
        return error;
    bool epoll = io->backend == &fin_io_epoll;
    if (c->fd >= FIXED || (!epoll && !(io->can.ops >> c->op & 1))) {
        struct call later = *c;
        later.since = fin_closes_now();
        later.fd = fin_io_descriptor(c->fd); // whatever becomes of a registered number meanwhile
        error = fin_sleep_until(when);
        error = error ? error : fin_io_closed(&later) ? -EBADF : 0;
        return error ? done_at_once(FIN_FOR_IO, io, storage, c, error, cont, state, size)
                     : with_stack(FIN_FOR_IO, io, storage, &later, NULL, cont, state, size);
    }
    if (epoll) {
        struct on_ready *on = prepare_ready(io, storage, c, FIN_IO_SOCKET, nothing);
        fin_timer_add(io, &on->delay, when, delay_over_ready);
        return fin_cont_suspend(FIN_FOR_IO, cont, state, size, cancelled_by(&on->ready.waiter, cancel_delay_ready, on),
                                begin_delay_ready, on);
    }
    struct on *on = prepare(io, storage, *c, nothing);
    return fin_cont_suspend(FIN_FOR_IO, cont, state, size, delay(on, when), begin_delay, on);
}

int fin_send_at_on(struct fin_on *on, uint64_t when, int fd, const void *data, size_t bytes, int flags, fin_cont *cont,
                   const void *state, size_t size) {
    const uint32_t all = (uint32_t)flags | MSG_NOSIGNAL;
    const struct call c = {.op = IORING_OP_SEND, .fd = fd, .addr = data, .len = fin_io_most(bytes), .flags = all};
    return wait_until_for(on, when, &c, cont, state, size);
}

static void begin_sleep(struct fin_awe *a, void *arg) { ((struct on_timer *)arg)->awe = a; }

int fin_sleep_until_on(struct fin_on *storage, uint64_t when, fin_cont *cont, const void *state, size_t size) {
    struct on_timer *w = (struct on_timer *)(void *)storage;
    struct io *io;
    int error = may_wait(&io, false, cont, state, size);
    if (error)
        return error;
    struct sleeper *s = &w->sleeper;
    s->waiter.awe = NULL;
    s->io = io;
    fin_timer_add(io, &s->timer, when, fin_io_slept);
    return fin_cont_suspend(FIN_FOR_TIME, cont, state, size, cancelled_by(&s->waiter, fin_io_cancel_sleep, s), begin_sleep,
                            w);
}

int fin_sleep_on(struct fin_on *on, uint64_t ns, fin_cont *cont, const void *state, size_t size) {
    return fin_sleep_until_on(on, fin_io_after(ns), cont, state, size);
}

int fin_on_readable(struct fin_on *on, int fd, fin_cont *cont, const void *state, size_t size) {
    struct call c = {.op = IORING_OP_POLL_ADD, .fd = fd, .flags = POLLIN};
    return wait_for(FIN_FOR_MESSAGE, on, &c, cont, state, size);
}

int fin_on_readable_then(struct fin_on *storage, int fd, void (*fn)(void *arg, struct fin_awe *a, int result), void *arg,
                         fin_cont *cont, const void *state, size_t size) {
    const struct call c = {.op = IORING_OP_POLL_ADD, .fd = fd, .flags = POLLIN};
    const struct then then = {fn, arg};
    struct io *io;
    int error = fin_io_here(&io);
    if (error != 0 || cancelled_here())
        return error != 0 ? error : -ECANCELED;
    if (io->backend == &fin_io_epoll) {
        struct on_ready *on = prepare_ready(io, storage, &c, FIN_IO_SOCKET, then);
        return fin_cont_suspend(FIN_FOR_MESSAGE, cont, state, size,
                                cancelled_by(&on->ready.waiter, fin_epoll_cancel, &on->ready), begin_ready, on);
    }
    struct on *on = prepare(io, storage, c, then);
    struct request *r = &on->request;
    return fin_cont_suspend(FIN_FOR_MESSAGE, cont, state, size, cancelled_by(&r->waiter, fin_uring_cancel, r), begin, on);
}

int fin_on_call(struct fin_on *on, const struct call *c, fin_cont *cont, const void *state, size_t size) {
    return wait_for(FIN_FOR_IO, on, c, cont, state, size);
}

// -1 would be the file's position.
static inline FIN_LEAVES_FRAME __attribute__((always_inline)) int wait_at(struct fin_on *on, const struct call c,
                                                                          fin_cont *cont, const void *state, size_t size) {
    return FIN_LIKELY((int64_t)c.off >= 0) ? quick(on, c, cont, state, size) : fin_on_invalid(cont, state, size);
}

int fin_pread_on(struct fin_on *on, int fd, void *buffer, size_t bytes, off_t offset, fin_cont *cont, const void *state,
                 size_t size) {
    const struct call c = {
        .op = IORING_OP_READ, .fd = fd, .addr = buffer, .len = fin_io_most(bytes), .off = (uint64_t)offset};
    return wait_at(on, c, cont, state, size);
}

int fin_pwrite_on(struct fin_on *on, int fd, const void *data, size_t bytes, off_t offset, fin_cont *cont, const void *state,
                  size_t size) {
    const struct call c = {
        .op = IORING_OP_WRITE, .fd = fd, .addr = data, .len = fin_io_most(bytes), .off = (uint64_t)offset};
    return wait_at(on, c, cont, state, size);
}

uint32_t fin_on_flags(struct fin_on *on) { return on_of(on)->request.flags; }

#define ON(name, parameters, ...)                                                                                           \
    int name parameters { return quick(on, (struct call){__VA_ARGS__}, cont, state, size); }

// clang-format off
ON(fin_read_on,
   (struct fin_on *on, int fd, void *buffer, size_t bytes, fin_cont *cont, const void *state, size_t size),
   .op = IORING_OP_READ, .fd = fd, .addr = buffer, .len = fin_io_most(bytes), .off = UINT64_MAX)
ON(fin_write_on,
   (struct fin_on *on, int fd, const void *data, size_t bytes, fin_cont *cont, const void *state, size_t size),
   .op = IORING_OP_WRITE, .fd = fd, .addr = data, .len = fin_io_most(bytes), .off = UINT64_MAX)
ON(fin_recv_on,
   (struct fin_on *on, int fd, void *buffer, size_t bytes, int flags, fin_cont *cont, const void *state, size_t size),
   .op = IORING_OP_RECV, .fd = fd, .addr = buffer, .len = fin_io_most(bytes), .flags = (uint32_t)flags)
ON(fin_send_on,
   (struct fin_on *on, int fd, const void *data, size_t bytes, int flags, fin_cont *cont, const void *state, size_t size),
   .op = IORING_OP_SEND, .fd = fd, .addr = data, .len = fin_io_most(bytes), .flags = (uint32_t)flags | MSG_NOSIGNAL)
// clang-format on

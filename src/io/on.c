// SPDX-License-Identifier: BSD-2-Clause
// Waits with a continuation. What the functions that block keep in their frame lies in the program's struct fin_on, and what
// they do when they go on is done where the completion arrives.
#include <fin/on.h>

#include "io/call.h"
#include "io/uring.h"

struct on {
    struct request request; // first: its waiter has no AWE
    struct fin_awe *awe;
    struct call call;
    bool polls; // the request is a wait for readiness, after which the call is tried again
    uint8_t unstarted;
};

struct on_timer {
    struct waiter waiter; // first
    struct io *io;
    struct fin_awe *awe;
    struct fin_timer timer;
};

_Static_assert(sizeof(struct on) + _Alignof(struct on) - _Alignof(struct fin_on) <= sizeof(struct fin_on),
               "room for a request");
_Static_assert(sizeof(struct on_timer) <= sizeof(struct fin_on), "and for a timer");

static struct on *on_of(struct fin_on *storage) {
    return (struct on *)(((uintptr_t)storage + _Alignof(struct on) - 1) & ~(uintptr_t)(_Alignof(struct on) - 1));
}

static void start_call(struct on *on) {
    on->polls = false;
    on->request.call = &on->call;
    fin_uring_start(&on->request, TO_REQUEST);
}

static void start_poll(struct on *on, uint32_t events) {
    static const struct call poll = {.op = IORING_OP_POLL_ADD};
    struct call c = {.op = IORING_OP_POLL_ADD, .fd = on->call.fd, .flags = events};
    on->polls = true;
    on->request.call = &c;
    fin_uring_start(&on->request, TO_REQUEST);
    on->request.call = &poll; // what is looked at from now on
}

// As attempts() in uring.c. True: it has been started again.
static bool again(struct on *on, int result) {
    uint32_t events = fin_io_events(&on->call);
    bool interrupted = fin_uring_interrupted(result);
    if (on->request.cancelled)
        return false;
    if (on->polls && (result >= 0 || interrupted))
        start_call(on);
    else if (result == -ECANCELED && ++on->unstarted < MOST_UNSTARTED)
        start_call(on);
    else if (!on->polls && result == -EAGAIN && events)
        start_poll(on, events);
    else if (!on->polls && interrupted)
        start_call(on);
    else
        return false;
    return true;
}

static void slept(struct fin_timer *t) {
    struct on_timer *w = FIN_OF(struct on_timer, timer, t);
    fin_io_resume(w->io, &w->waiter, 0);
}

static void cancel_sleep(void *timer) {
    struct on_timer *w = timer;
    if (!fin_timer_waits(&w->timer))
        return;
    fin_timer_remove(&w->timer);
    fin_io_resume(w->io, &w->waiter, -ECANCELED);
}

void fin_on_completed(struct io *io, struct waiter *w) {
    struct on *on = (struct on *)w;
    int result = w->result;
    if (w->item.fn == cancel_sleep) {
        fin_cancel_item_remove(&w->item);
        fin_cont_done(io->rt, ((struct on_timer *)w)->awe, result);
        return;
    }
    if (again(on, result))
        return;
    fin_cancel_item_remove(&w->item);
    if (on->request.tag & TO_FD && result >= 0)
        fin_io_take(io, on->request.position);
    if (result == -ECANCELED && !on->request.cancelled)
        result = -EAGAIN;
    else if (result < 0)
        result = fin_uring_failed(&on->request, &on->call, result);
    else if (result > 0 && on->call.off == UINT64_MAX && (uint32_t)result != on->call.len)
        fin_uring_short(&on->call, result);
    fin_cont_done(io->rt, on->awe, result);
}

static void begin(struct fin_awe *a, void *arg) {
    struct on *on = arg;
    on->awe = a;
    start_call(on);
}

// 0: the wait can begin. In a cancelled block the continuation runs instead, and this does not return.
static int may_wait(struct io **io, fin_cont *cont, const void *state, size_t size) {
    int error = fin_cont_may_wait(cont, size);
    if (!error)
        error = fin_io_here(io);
    return !error && fin_cancelled() ? fin_cont_go_on(FIN_FOR_IO, cont, state, size, -ECANCELED) : error;
}

static int wait_for(struct fin_on *storage, const struct call *c, fin_cont *cont, const void *state, size_t size) {
    struct io *io;
    int error = may_wait(&io, cont, state, size);
    if (error)
        return error;
    if (io->backend != &fin_io_uring || c->fd >= FIXED || !(io->can.ops >> c->op & 1))
        return fin_cont_go_on(FIN_FOR_IO, cont, state, size, run(c));
    struct on *on = on_of(storage);
    struct request *r = &on->request;
    on->call = *c;
    r->waiter.awe = NULL;
    r->io = io;
    r->pending = r->tries = on->unstarted = 0;
    r->flags = 0;
    r->cancelled = r->withdrawn = false;
    fin_cancel_item_add(&r->waiter.item, fin_uring_cancel, r);
    return fin_cont_wait(FIN_FOR_IO, cont, state, size, begin, on);
}

static void begin_sleep(struct fin_awe *a, void *arg) { ((struct on_timer *)arg)->awe = a; }

int fin_sleep_until_on(struct fin_on *storage, uint64_t when, fin_cont *cont, const void *state, size_t size) {
    struct on_timer *w = (struct on_timer *)(void *)storage;
    struct io *io;
    int error = may_wait(&io, cont, state, size);
    if (error)
        return error;
    w->waiter.awe = NULL;
    w->io = io;
    fin_cancel_item_add(&w->waiter.item, cancel_sleep, w);
    fin_timer_add(io, &w->timer, when, slept);
    return fin_cont_wait(FIN_FOR_TIME, cont, state, size, begin_sleep, w);
}

int fin_sleep_on(struct fin_on *on, uint64_t ns, fin_cont *cont, const void *state, size_t size) {
    return fin_sleep_until_on(on, fin_io_after(ns), cont, state, size);
}

#define ON(name, parameters, ...)                                                                                           \
    int name parameters { return wait_for(on, &(struct call){__VA_ARGS__}, cont, state, size); }

// clang-format off
ON(fin_poll_on, (struct fin_on *on, int fd, int events, fin_cont *cont, const void *state, size_t size),
   .op = IORING_OP_POLL_ADD, .fd = fd, .flags = (uint16_t)events)
ON(fin_read_on, (struct fin_on *on, int fd, void *buffer, size_t bytes, fin_cont *cont, const void *state, size_t size),
   .op = IORING_OP_READ, .fd = fd, .addr = buffer, .len = fin_io_most(bytes), .off = UINT64_MAX)
ON(fin_write_on, (struct fin_on *on, int fd, const void *data, size_t bytes, fin_cont *cont, const void *state, size_t size),
   .op = IORING_OP_WRITE, .fd = fd, .addr = data, .len = fin_io_most(bytes), .off = UINT64_MAX)
ON(fin_recv_on, (struct fin_on *on, int fd, void *buffer, size_t bytes, int flags, fin_cont *cont, const void *state,
                 size_t size),
   .op = IORING_OP_RECV, .fd = fd, .addr = buffer, .len = fin_io_most(bytes), .flags = (uint32_t)flags)
ON(fin_send_on, (struct fin_on *on, int fd, const void *data, size_t bytes, int flags, fin_cont *cont, const void *state,
                 size_t size),
   .op = IORING_OP_SEND, .fd = fd, .addr = data, .len = fin_io_most(bytes), .flags = (uint32_t)flags | MSG_NOSIGNAL)
ON(fin_accept_on, (struct fin_on *on, int fd, int flags, fin_cont *cont, const void *state, size_t size),
   .op = IORING_OP_ACCEPT, .fd = fd, .flags = (uint32_t)flags)
// clang-format on

// SPDX-License-Identifier: BSD-2-Clause
// Chains of requests. Only the first one that has not ended is cancelled: the kernel finds no other, and its end ends the
// rest.
//
// The kernel looks for the file of a step when it begins that. So before fin_close gives up a number, chains of its thread
// with such a step are taken back, and run step by step from there: then what would use the number is -EBADF.
#include <fin/linked.h>

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "io/fixed.h"
#include "io/linked.h"

struct chain {
    struct owned owned; // ends with the thread
    struct fin_link link;
    struct waiter waiter;
    struct io *io;
    unsigned count, left;
    const struct call *calls; // also those that are run when what went down is over
    unsigned all;
    bool cancelled, taken_back;
    struct step steps[];
};

static bool whole(const struct call *c) {
    switch (c->op) {
    case IORING_OP_READ:
    case IORING_OP_WRITE:
    case IORING_OP_SEND:
        return true;
    case IORING_OP_RECV:
        return c->flags & MSG_WAITALL;
    default:
        return false;
    }
}

static bool succeeded(const struct call *c, int result) { return result >= 0 && (!whole(c) || (uint32_t)result == c->len); }

static void cancel_first(struct chain *chain) {
    for (unsigned i = 0; i < chain->count; i++) {
        struct request *r = &chain->steps[i].request;
        if (!(r->pending & RESULT))
            continue;
        if (r->pending == RESULT)
            fin_uring_send_cancel_soon(r);
        return;
    }
}

void fin_linked_completed(struct step *s, bool cancellation, int result) {
    struct request *r = &s->request;
    struct chain *chain = s->chain;
    if (cancellation) {
        fin_uring_cancel_completed(r, result);
    } else {
        fin_uring_written(r->call, result);
        r->pending &= (uint8_t)~RESULT;
        r->waiter.result = result;
        if (!(r->pending & CANCEL))
            fin_timer_remove(&r->again);
    }
    if (r->pending)
        return;
    if (--chain->left == 0)
        fin_io_resume(chain->io, &chain->waiter, 0);
    else if (chain->cancelled || chain->taken_back)
        cancel_first(chain);
}

// What goes down later would begin beside what has gone down: it is run when that is over, step by step.
void fin_linked_cut(struct step *s) {
    struct chain *chain = s->chain;
    unsigned down = (unsigned)(s - chain->steps);
    if (down == 0)
        return;
    for (unsigned i = down; i < chain->count; i++)
        fin_uring_withdraw(&chain->steps[i].request);
    chain->left -= chain->count - down;
    chain->count = down;
}

static void withdraw(struct chain *chain) {
    for (unsigned i = 0; i < chain->count; i++) {
        if (!(chain->steps[i].request.pending & RESULT))
            continue; // in the child of a fork
        fin_uring_withdraw(&chain->steps[i].request);
        chain->steps[i].request.waiter.result = -ECANCELED;
    }
    chain->left = 0;
    fin_io_resume(chain->io, &chain->waiter, 0);
}

void fin_linked_in_child(struct step *s) {
    if (s->chain->left == 0)
        return;
    withdraw(s->chain);
}

static void end_early(struct chain *chain) {
    if (chain->left == 0)
        return;
    if (fin_uring_unseen(&chain->steps[0].request))
        withdraw(chain);
    else
        cancel_first(chain);
}

static void cancel(void *arg) {
    struct chain *chain = arg;
    chain->cancelled = true;
    end_early(chain);
}

// Is it in a step that may not have begun?
static bool has_later(const struct chain *chain, int fd) {
    for (unsigned i = 1; i < chain->all; i++) {
        const struct call *c = &chain->calls[i];
        bool later = i < chain->count ? chain->steps[i].request.pending : chain->left;
        if (later && c->fd == fd && !(c->sqe_flags & IOSQE_FIXED_FILE))
            return true;
    }
    return false;
}

static bool take_back(struct io *io, int fd) {
    bool any = false;
    for (struct fin_link *l = io->chains.next; l != &io->chains; l = l->next) {
        struct chain *chain = FIN_OF(struct chain, link, l);
        if (!has_later(chain, fd))
            continue;
        if (!chain->taken_back && !chain->cancelled)
            end_early(chain);
        chain->taken_back = true;
        any = any || has_later(chain, fd);
    }
    return any;
}

// Should the thread end meanwhile, that closes it.
void fin_linked_closes(struct io *io, int fd) {
    uint32_t place = fin_io_hold(io, fd);
    while (take_back(io, fd))
        fin_io_pause(true);
    fin_io_take(io, place);
}

static void link_steps(const struct call *calls, unsigned count, bool linked) {
    for (unsigned i = 1; i < count; i++)
        fin_close_linked(calls[i].fd, linked);
}

static FIN_BLOCKING void submit(struct chain *chain, struct call *calls, unsigned all) {
    chain->calls = calls;
    chain->all = all;
    for (unsigned i = 0; i < chain->count; i++) {
        struct request *r = &chain->steps[i].request;
        chain->steps[i] = (struct step){.request = {.io = chain->io, .call = &calls[i]}, .chain = chain};
        calls[i].sqe_flags |= i + 1 < chain->count ? IOSQE_IO_LINK : 0;
        fin_uring_start(r, TO_STEP);
    }
    chain->left = chain->count;
    fin_io_suspend(&chain->waiter);
}

static bool goes_on(const struct call *c, int done) {
    return fin_io_all(c) && !(c->flags & MSG_DONTWAIT) && done > 0 && (uint32_t)done < c->len;
}

static FIN_BLOCKING int connect_later(struct io *io, const struct call *c) {
    int r;
    do {
        r = fin_io_pause(c->nc);
        if (r == 0)
            r = fin_io_closed(c) ? -EBADF : fin_io_by_backend(io, c);
    } while (fin_io_too_many_to_accept(c, r));
    return r;
}

// A connect that has begun on a thread of the kernel, as may be behind another step, does not wait there where the socket is
// in non-blocking mode. The call that ends it says how that went.
static FIN_BLOCKING int connect_begun(struct io *io, const struct call *c) {
    int r;
    do {
        r = fin_io_poll(c->fd, POLLOUT, c->nc);
        if (r < 0)
            return r == -ECANCELED ? fin_io_connect_ended(io, c) : r;
        r = fin_io_closed(c) ? -EBADF : fin_io_try(c, FIN_IO_SOCKET, true);
    } while (r == -EALREADY || r == -EINPROGRESS);
    return r == -EISCONN ? 0 : r;
}

// A send goes on until all is sent, and a receive with MSG_WAITALL until all has come, after what was done before.
static FIN_BLOCKING int run_step(struct io *io, const struct call *c, int done) {
    struct call rest = *c;
    int r;
    do {
        if (done) {
            rest.addr = (const char *)c->addr + done;
            rest.len = c->len - (uint32_t)done;
        }
        fin_io_let_others_run(io);
        r = fin_io_closed(c) ? -EBADF : fin_io_by_backend(io, &rest);
        if (fin_io_too_many_to_accept(c, r))
            r = connect_later(io, c);
        done += r > 0 ? r : 0;
    } while (r > 0 && goes_on(c, done));
    return done > 0 ? done : r;
}

// One after the other, for what the ring does not take as a chain; the first after what it has done. Returns how many
// succeeded; the results of the others are set.
static FIN_BLOCKING int run_each(struct io *io, const struct call *calls, struct fin_step *steps, int from, int to,
                                 int done) {
    int i = from;
    for (; i < to; i++, done = 0) {
        steps[i].result = run_step(io, &calls[i], done);
        if (!succeeded(&calls[i], (int)steps[i].result))
            break;
    }
    for (int rest = i + 1; rest < to; rest++)
        steps[rest].result = -ECANCELED;
    return i;
}

// A step ends where its function would try again.
static bool again(struct step *s, const struct call *c, int result) {
    int is = result; // or -EBADF, as its descriptor was closed, which run_each() says
    return fin_uring_next(&s->request, c, &is) != FIN_OVER || is != result || fin_io_too_many_to_accept(c, result);
}

// Of `all` steps, of which the first ones were the chain. Behind one that failed ECANCELED says that it was not begun.
static FIN_BLOCKING int results(struct chain *chain, const struct call *calls, struct fin_step *steps, int all) {
    int n = (int)chain->count, good = 0;
    for (int i = 0; i < n; i++) {
        int result = chain->steps[i].request.waiter.result;
        bool begun = good == i || result != -ECANCELED;
        steps[i].result = begun && result < 0 ? fin_uring_failed(&chain->steps[i].request, &calls[i], result) : result;
        if (good == i && succeeded(&calls[i], (int)steps[i].result))
            good++;
    }
    if (good == all || chain->cancelled)
        return good;
    if (good == n)
        return run_each(chain->io, calls, steps, n, all, 0);
    int done = chain->steps[good].request.waiter.result;
    if (done == -ECANCELED && calls[good].op == IORING_OP_CONNECT && fin_io_connect_ended(chain->io, &calls[good]) == 0) {
        steps[good++].result = 0; // it was taken back too late
        return run_each(chain->io, calls, steps, good, all, 0);
    }
    if (done == -EINPROGRESS && calls[good].op == IORING_OP_CONNECT) {
        steps[good].result = connect_begun(chain->io, &calls[good]);
        return steps[good].result == 0 ? run_each(chain->io, calls, steps, good + 1, all, 0) : good;
    }
    if (!goes_on(&calls[good], done) && !again(&chain->steps[good], &calls[good], done))
        return good;
    return run_each(chain->io, calls, steps, good, all, done > 0 ? done : 0);
}

static void dispose(struct chain *chain) {
    fin_owned_remove(&chain->owned);
    fin_link_remove(&chain->link);
    free(chain);
}

static void lost(struct owned *o) { dispose(FIN_OF(struct chain, owned, o)); }

static struct chain *new_chain(struct io *io, unsigned count) {
    size_t align = _Alignof(struct chain), size = sizeof(struct chain) + count * sizeof(struct step);
    struct chain *chain = aligned_alloc(align, (size + align - 1) / align * align);
    if (!chain)
        return NULL;
    chain->io = io;
    chain->count = count;
    chain->all = chain->left = 0;
    chain->cancelled = chain->taken_back = false;
    fin_owned_add(&chain->owned, io, lost);
    fin_link_back(&io->chains, &chain->link);
    return chain;
}

// How many of the steps the ring takes. A close is none of them: a number counts as closed before the kernel closes it, and
// while steps before it wait, it is not; and what follows it in a chain would still find a pipe's reader, because the kernel
// lets go of the file when the chain is over. An fsync is the last of them: the kernel goes on where it has failed. What is
// at a file's position is not the ring's, nor is what moves nothing. Nor is, before Linux 6.1, what is to be done as a
// whole: there the part that was done before an error or a cancel is lost.
static unsigned as_chain(const struct io *io, const struct call *calls, unsigned count) {
    unsigned n = 0;
    ino_t file;
    while (n < count && (n == 0 || calls[n - 1].op != IORING_OP_FSYNC) && calls[n].op != IORING_OP_CLOSE &&
           !fin_io_nothing(&calls[n]) && !fin_io_of_file(io, &calls[n], &file) &&
           (io->can.tells_part || !fin_io_all(&calls[n])))
        n++;
    return n;
}

static FIN_BLOCKING int run_chain(struct io *io, struct call *calls, struct fin_step *steps, unsigned all, unsigned count) {
    struct chain *chain = new_chain(io, count);
    int good = -ECANCELED;
    if (!chain)
        return -ENOMEM;
    if (!calls->nc)
        fin_cancel_add(&chain->waiter.item, cancel, chain);
    if (!chain->cancelled) {
        link_steps(calls, all, true);
        submit(chain, calls, all);
        link_steps(calls, all, false);
        for (unsigned i = 0; i < count; i++) {
            calls[i].sqe_flags &= (uint8_t)~IOSQE_IO_LINK;
            chain->steps[i].request.cancelled = chain->cancelled;
        }
        if (!calls->nc)
            fin_cancel_remove(&chain->waiter.item);
        good = results(chain, calls, steps, (int)all);
    }
    dispose(chain);
    return good;
}

static FIN_BLOCKING int run_all(struct io *io, struct call *calls, struct fin_step *steps, unsigned count) {
    if (!calls->nc && fin_cancelled())
        return -ECANCELED;
    bool ring = io->backend == &fin_io_uring && fin_uring_room(io, count);
    unsigned first = ring ? as_chain(io, calls, count) : 0;
    int good = first ? run_chain(io, calls, steps, count, first) : run_each(io, calls, steps, 0, (int)count, 0);
    bool nothing = good == 0 && steps[0].result == -ECANCELED && !calls->nc && fin_cancelled(); // or its file says so
    return nothing ? -ECANCELED : good;
}

static FIN_BLOCKING int linked(struct fin_step *steps, unsigned count, bool nc) {
    struct call calls[FIN_LINKED_MOST];
    int slots[FIN_LINKED_MOST];
    struct io *io;
    int error = fin_io_here(&io);
    if (error)
        return error;
    if (count == 0 || count > FIN_LINKED_MOST)
        return -EINVAL;
    for (unsigned i = 0; i < count; i++) {
        memcpy(&calls[i], steps[i].call_, sizeof *calls);
        calls[i].nc = nc;
        calls[i].since = fin_closes_now();
        slots[i] = -1;
        if (calls[i].fd >= FIXED && (slots[i] = fin_fixed_file(io, &calls[i])) < 0)
            calls[i].fd = -1;
        steps[i].result = -ECANCELED;
    }
    int good = run_all(io, calls, steps, count);
    for (unsigned i = 0; i < count; i++)
        if (slots[i] >= 0)
            fin_fixed_done(io, slots[i]);
    return good;
}

int fin_linked(struct fin_step *steps, unsigned count) { return linked(steps, count, false); }
int fin_linked_nc(struct fin_step *steps, unsigned count) { return linked(steps, count, true); }

_Static_assert(sizeof(struct call) <= sizeof(((struct fin_step *)0)->call_), "a step holds a call");

static struct fin_step step(struct call c) {
    struct fin_step s = {.result = -ECANCELED};
    memcpy(s.call_, &c, sizeof c);
    return s;
}

static uint32_t most(size_t size) { return fin_io_most(size); }

struct fin_step fin_step_read(int fd, void *buffer, size_t size) {
    return step((struct call){.op = IORING_OP_READ, .fd = fd, .addr = buffer, .len = most(size), .off = UINT64_MAX});
}

struct fin_step fin_step_write(int fd, const void *data, size_t size) {
    return step((struct call){.op = IORING_OP_WRITE, .fd = fd, .addr = data, .len = most(size), .off = UINT64_MAX});
}

// The offset -1 would mean the file's position: a number that no file has fails as a negative one does.
struct fin_step fin_step_pread(int fd, void *buffer, size_t size, off_t offset) {
    uint64_t off = offset < 0 ? (uint64_t)INT64_MIN : (uint64_t)offset;
    return step((struct call){.op = IORING_OP_READ, .fd = fd, .addr = buffer, .len = most(size), .off = off});
}

struct fin_step fin_step_pwrite(int fd, const void *data, size_t size, off_t offset) {
    uint64_t off = offset < 0 ? (uint64_t)INT64_MIN : (uint64_t)offset;
    return step((struct call){.op = IORING_OP_WRITE, .fd = fd, .addr = data, .len = most(size), .off = off});
}

struct fin_step fin_step_connect(int fd, const struct sockaddr *address, socklen_t size) {
    return step((struct call){.op = IORING_OP_CONNECT, .fd = fd, .addr = address, .off = size});
}

// MSG_WAITALL: the kernel ends the chain after less only where it knows that all was wanted.
struct fin_step fin_step_send(int fd, const void *data, size_t size, int flags) {
    uint32_t all = (uint32_t)flags | MSG_NOSIGNAL | MSG_WAITALL;
    return step((struct call){.op = IORING_OP_SEND, .fd = fd, .addr = data, .len = most(size), .flags = all});
}

struct fin_step fin_step_recv(int fd, void *buffer, size_t size, int flags) {
    return step((struct call){.op = IORING_OP_RECV, .fd = fd, .addr = buffer, .len = most(size), .flags = (uint32_t)flags});
}

struct fin_step fin_step_fsync(int fd) { return step((struct call){.op = IORING_OP_FSYNC, .fd = fd}); }
struct fin_step fin_step_close(int fd) { return step((struct call){.op = IORING_OP_CLOSE, .fd = fd}); }

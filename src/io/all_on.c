// SPDX-License-Identifier: BSD-2-Clause
// Transfers with a continuation that go on until all is done, as in all.c.
#include <fin/on.h>

#include <sys/socket.h>

#include "core/told.h"
#include "io/fixed.h"

// In the program's struct fin_more_on.
struct all_on {
    struct fin_kept kept; // first: the address of this is the state of our continuation
    struct call call;     // begins where it goes on
    size_t left, n;       // n have been transferred
    size_t *done;
    struct fin_on on;
};
_Static_assert(sizeof(struct all_on) <= sizeof(struct fin_more_on), "room for a wait");

static FIN_INNER void some(void *state, int r);

static int transfer(struct all_on *w, int fd) {
    struct call c = w->call;
    c.fd = fd;
    c.len = fin_io_most(w->left);
    return fin_on_call(&w->on, &c, some, &w, sizeof w);
}

static FIN_INNER void some(void *state, int r) {
    struct all_on *w = *(struct all_on **)state;
    if (r > 0) {
        w->n += (size_t)r;
        w->left -= (size_t)r;
        w->call.addr = (const char *)w->call.addr + r;
        r = !w->left ? 0 : fin_io_closed(&w->call) ? -EBADF : transfer(w, w->call.fd);
    } else if (r == 0) {
        r = -ENODATA;
    }
    if (w->done)
        *w->done = w->n;
    fin_cont_tell(&w->kept, r);
}

static int all(struct fin_more_on *storage, struct call c, size_t bytes, size_t *done, fin_cont *cont, const void *state,
               size_t size) {
    struct all_on *w = (struct all_on *)(void *)storage;
    if (done)
        *done = 0;
    int error = fin_cont_may_wait(cont, state, size);
    if (error)
        return error;
    if (bytes == 0)
        return fin_cont_call(cont, state, size, 0);
    w->call = c;
    w->left = bytes;
    w->n = 0;
    w->done = done;
    w->call.fd = fin_io_descriptor(c.fd); // whatever becomes of a registered number meanwhile
    w->call.since = fin_closes_now();
    fin_keep(&w->kept, cont, state, size);
    return transfer(w, c.fd);
}

#define ALL(name, parameters, p, ...)                                                                                       \
    int name parameters { return all(on, (struct call){__VA_ARGS__, .addr = p}, bytes, done, cont, state, size); }
#define REST fin_cont *cont, const void *state, size_t size

// clang-format off
ALL(fin_read_all_on, (struct fin_more_on *on, int fd, void *buffer, size_t bytes, size_t *done, REST), buffer,
    .op = IORING_OP_READ, .fd = fd, .off = UINT64_MAX)
ALL(fin_write_all_on, (struct fin_more_on *on, int fd, const void *data, size_t bytes, size_t *done, REST), data,
    .op = IORING_OP_WRITE, .fd = fd, .off = UINT64_MAX)
ALL(fin_recv_all_on, (struct fin_more_on *on, int fd, void *buffer, size_t bytes, int flags, size_t *done, REST), buffer,
    .op = IORING_OP_RECV, .fd = fd, .flags = (uint32_t)flags)
ALL(fin_send_all_on, (struct fin_more_on *on, int fd, const void *data, size_t bytes, int flags, size_t *done, REST), data,
    .op = IORING_OP_SEND, .fd = fd, .flags = (uint32_t)flags | MSG_NOSIGNAL)
// clang-format on

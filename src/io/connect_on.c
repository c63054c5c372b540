// SPDX-License-Identifier: BSD-2-Clause
// Connecting with a continuation. The ring waits for the connection itself; elsewhere the socket is waited for, and the call
// made again, as epoll.c does for AWEs with stacks.
#include <fin/on.h>

#include <poll.h>
#include <sys/socket.h>

#include "core/told.h"
#include "io/call.h"

// In the program's struct fin_more_on.
struct connect_on {
    struct fin_kept kept; // first: the address of this is the state of our continuations
    struct call call;
    struct io *io;
    struct fin_on on;
};
_Static_assert(sizeof(struct connect_on) <= sizeof(struct fin_more_on), "room for a wait");

static FIN_INNER void rested(void *state, int result);
static FIN_INNER void ready(void *state, int result);

// Some results are none yet. A Unix socket in non-blocking mode is told EAGAIN when its peer has too many to accept, and
// nothing tells when that changes.
static FIN_INNER void connected(void *state, int r) {
    struct connect_on *w = *(struct connect_on **)state;
    const struct sockaddr *address = w->call.addr;
    if (r == -EAGAIN && address->sa_family == AF_UNIX)
        r = fin_sleep_on(&w->on, FIN_MS, rested, &w, sizeof w);
    else if (r == -EINPROGRESS)
        r = fin_poll_on(&w->on, w->call.fd, POLLOUT, ready, &w, sizeof w);
    fin_cont_tell(&w->kept, r);
}

// Of a socket that was in the midst of it: the call that ends it says how that went, or that it is connected already.
static FIN_INNER void ready(void *state, int r) {
    struct connect_on *w = *(struct connect_on **)state;
    if (r == -ECANCELED)
        r = fin_io_connect_ended(w->io, &w->call);
    else if (r >= 0)
        r = fin_io_closed(&w->call) ? -EBADF : fin_io_try(&w->call, FIN_IO_SOCKET, true);
    connected(&w, r == -EISCONN ? 0 : r == -EALREADY ? -EINPROGRESS : r);
}

static int begin(struct connect_on *w, int fd) {
    struct call c = w->call;
    int error = fin_io_here(&w->io);
    if (error)
        return error;
    c.fd = fd;
    if (w->io->backend != &fin_io_epoll || fd >= FIXED)
        return fin_on_call(&w->on, &c, connected, &w, sizeof w);
    int r = fin_io_try(&w->call, FIN_IO_SOCKET, false);
    return fin_cont_call(connected, &w, sizeof w, r);
}

static FIN_INNER void rested(void *state, int r) {
    struct connect_on *w = *(struct connect_on **)state;
    if (r == 0)
        r = fin_io_closed(&w->call) ? -EBADF : begin(w, w->call.fd);
    fin_cont_tell(&w->kept, r);
}

int fin_connect_on(struct fin_more_on *storage, int fd, const struct sockaddr *address, socklen_t bytes, fin_cont *cont,
                   const void *state, size_t size) {
    struct connect_on *w = (struct connect_on *)(void *)storage;
    int error = fin_cont_may_wait(cont, state, size);
    if (error)
        return error;
    fin_keep(&w->kept, cont, state, size);
    w->call = (struct call){.op = IORING_OP_CONNECT, .addr = address, .off = bytes, .since = fin_closes_now()};
    w->call.fd = fin_io_descriptor(fd); // whatever becomes of a registered number meanwhile
    return begin(w, fd);
}

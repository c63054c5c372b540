// SPDX-License-Identifier: BSD-2-Clause
// Sending messages with a continuation: as send_message() in socket.c, which says why the ring is not left to wait for room.
#include <fin/on.h>

#include <poll.h>
#include <sys/socket.h>

#include "core/told.h"
#include "io/call.h"

// In the program's struct fin_more_on.
struct send_on {
    struct fin_kept kept; // first: the address of this is the state of our continuations
    int fd;
    uint32_t flags, waits; // how many there have been for room, or the most that are counted
    uint64_t since;
    const struct msghdr *message; // the program's, or this one
    struct msghdr m;
    struct iovec v;
    struct fin_on on;
};
_Static_assert(sizeof(struct send_on) <= sizeof(struct fin_more_on), "room for a wait");

enum { MOST_WAITS = 7 }; // each twice as long as the one before, up to about a millisecond

static struct call sends(const struct send_on *w) {
    return (struct call){.op = IORING_OP_SENDMSG, .fd = w->fd, .addr = w->message, .len = 1, .flags = w->flags,
                         .since = w->since};
}

static FIN_INNER void may_have_room(void *state, int result);

// Its number may be another's since the attempt, whose AWE has had to wait for its turn.
static int wait_for_room(struct send_on *w) {
    const struct call c = sends(w);
    uint32_t waits = w->waits;
    if (fin_io_closed(&c))
        return -EBADF;
    w->waits += waits < MOST_WAITS;
    if (fin_io_poll_tells_room(w->fd, waits > 0))
        return fin_poll_on(&w->on, w->fd, POLLOUT, may_have_room, &w, sizeof w);
    return fin_sleep_on(&w->on, (uint64_t)10 * FIN_US << waits, may_have_room, &w, sizeof w);
}

static FIN_INNER void sent(void *state, int n) {
    struct send_on *w = *(struct send_on **)state;
    if (n == -EAGAIN)
        n = wait_for_room(w);
    fin_cont_tell(&w->kept, n);
}

static FIN_INNER void may_have_room(void *state, int r) {
    struct send_on *w = *(struct send_on **)state;
    const struct call c = sends(w);
    if (r >= 0)
        r = fin_io_closed(&c) ? -EBADF : fin_on_call(&w->on, &c, sent, &w, sizeof w);
    fin_cont_tell(&w->kept, r);
}

static int begin(struct send_on *w, int fd, int flags, fin_cont *cont, const void *state, size_t size) {
    w->fd = FIN_UNLIKELY(fd >= FIXED) ? fin_io_descriptor(fd) : fd; // whatever becomes of a registered number meanwhile
    w->flags = (uint32_t)flags | MSG_NOSIGNAL;
    w->waits = 0;
    w->since = fin_closes_now();
    struct call c = sends(w);
    c.fd = fd;
    if (flags & MSG_DONTWAIT || (flags & MSG_WAITALL && fin_socket_option(fd, SO_TYPE) == SOCK_STREAM))
        return fin_on_call(&w->on, &c, cont, state, size);
    fin_keep(&w->kept, cont, state, size);
    c.flags = w->flags = (w->flags & ~(uint32_t)MSG_WAITALL) | MSG_DONTWAIT;
    return fin_on_call(&w->on, &c, sent, &w, sizeof w);
}

int fin_sendmsg_on(struct fin_more_on *storage, int fd, const struct msghdr *m, int flags, fin_cont *cont, const void *state,
                   size_t size) {
    struct send_on *w = (struct send_on *)(void *)storage;
    int error = fin_cont_may_wait(cont, state, size);
    if (error)
        return error;
    w->message = m;
    return begin(w, fd, flags, cont, state, size);
}

int fin_sendto_on(struct fin_more_on *storage, int fd, const void *data, size_t bytes, int flags, const struct sockaddr *to,
                  socklen_t to_size, fin_cont *cont, const void *state, size_t size) {
    struct send_on *w = (struct send_on *)(void *)storage;
    int error = fin_cont_may_wait(cont, state, size);
    if (error)
        return error;
    w->v = (struct iovec){(void *)(uintptr_t)data, fin_io_most(bytes)};
    w->m = (struct msghdr){.msg_name = (void *)(uintptr_t)to, .msg_namelen = to_size, .msg_iov = &w->v, .msg_iovlen = 1};
    w->message = &w->m;
    return begin(w, fd, flags, cont, state, size);
}

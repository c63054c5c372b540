// SPDX-License-Identifier: BSD-2-Clause
// Receiving messages with a continuation. Where they may bring descriptors, the room for these is ours, on each back end:
// what has come when the thread ends before the AWE runs is closed. (message.h)
#include <fin/on.h>

#include "core/told.h"
#include "io/message.h"

// In the program's struct fin_more_on.
struct message_on {
    struct fin_kept kept; // first: the address of this is the state of our continuations
    struct message *own;  // where there is room for control data
    struct msghdr *to;    // the program's, or this one
    socklen_t *size;      // of the address, likewise
    struct msghdr m;
    struct iovec v;
    struct fin_on on;
};
_Static_assert(sizeof(struct message_on) <= sizeof(struct fin_more_on), "room for a wait");

static FIN_INNER void received(void *state, int n) {
    struct message_on *w = *(struct message_on **)state;
    if (n >= 0)
        fin_message_copy(w->to, w->own);
    fin_message_end(w->own);
    fin_cont_tell(&w->kept, n);
}

static struct call receives(int fd, const struct msghdr *m, int flags) {
    return (struct call){.op = IORING_OP_RECVMSG, .fd = fd, .addr = m, .len = 1, .flags = (uint32_t)flags};
}

// The header says how much control data came: that there is none, too.
int fin_recvmsg_on(struct fin_more_on *storage, int fd, struct msghdr *m, int flags, fin_cont *cont, const void *state,
                   size_t size) {
    struct message_on *w = (struct message_on *)(void *)storage;
    struct call c = receives(fd, m, flags);
    if (!m || !m->msg_control || !m->msg_controllen)
        return fin_on_call(&w->on, &c, cont, state, size);
    struct io *io;
    int error = fin_cont_may_wait(cont, state, size);
    if (error || (error = fin_io_here(&io)) != 0)
        return error;
    fin_keep(&w->kept, cont, state, size);
    w->to = m;
    w->own = fin_message_new(io, m);
    if (!w->own)
        return -ENOMEM;
    c.addr = &w->own->m;
    c.message = true;
    error = fin_on_call(&w->on, &c, received, &w, sizeof w);
    fin_message_end(w->own); // it was refused
    return error;
}

static FIN_INNER void received_from(void *state, int n) {
    struct message_on *w = *(struct message_on **)state;
    if (n >= 0)
        *w->size = w->m.msg_namelen;
    fin_cont_tell(&w->kept, n);
}

int fin_recvfrom_on(struct fin_more_on *storage, int fd, void *buffer, size_t bytes, int flags, struct sockaddr *from,
                    socklen_t *from_size, fin_cont *cont, const void *state, size_t size) {
    struct message_on *w = (struct message_on *)(void *)storage;
    int error = fin_cont_may_wait(cont, state, size);
    if (error)
        return error;
    fin_keep(&w->kept, cont, state, size);
    w->v = (struct iovec){buffer, fin_io_most(bytes)};
    w->m = (struct msghdr){.msg_name = from, .msg_iov = &w->v, .msg_iovlen = 1};
    struct call c = receives(fd, &w->m, flags);
    if (!from)
        return fin_on_call(&w->on, &c, cont, state, size);
    w->m.msg_namelen = *from_size;
    w->size = from_size;
    return fin_on_call(&w->on, &c, received_from, &w, sizeof w);
}

// SPDX-License-Identifier: BSD-2-Clause
// Readiness, as poll(2) knows it. A ring's wait ends, too, when a socket's peer has sent its last, and then at once for
// ever: who wants to know of room there waits for an epoll, which says nothing else.
#include <poll.h>
#include <unistd.h>

#include "io/call.h"

static FIN_BLOCKING int once(int fd, uint32_t events, bool nc) {
    return (int)run((struct call){.op = IORING_OP_POLL_ADD, .fd = fd, .flags = events, .nc = nc});
}

static FIN_BLOCKING int only(struct io *io, int fd, uint32_t events, bool nc) {
    int r, epoll = fin_io_epoll_for(fd, events);
    if (epoll < 0) // without a descriptor it is asked again and again
        return fin_io_pause(nc);
    uint32_t place = fin_io_hold(io, epoll);
    if (place == UINT32_MAX) { // the end of the thread would not close it
        close(epoll);
        return fin_io_pause(nc);
    }
    r = once(epoll, POLLIN, nc);
    fin_io_take(io, place);
    close(epoll);
    return r < 0 ? r : 0;
}

int fin_io_poll(int fd, int events, bool nc) {
    const struct call c = {.fd = fin_io_descriptor(fd), .since = fin_closes_now()};
    for (;; fd = c.fd) { // whatever becomes of a registered number meanwhile
        if (fin_io_closed(&c))
            return -EBADF;
        int r = once(fd, (uint16_t)events, nc);
        if (r < 0 || (r = fin_io_asked_for(r, (uint16_t)events)) > 0)
            return r;
        struct io *io;
        r = fin_io_closed(&c) ? -EBADF : fin_io_here(&io);
        if (r == 0)
            r = only(io, c.fd, (uint16_t)events, nc);
        if (r != 0)
            return r;
    }
}

TWICE(int, fin_poll, (int fd, int events), fin_io_poll, fd, events)

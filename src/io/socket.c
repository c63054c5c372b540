// SPDX-License-Identifier: BSD-2-Clause
// The public functions of sockets.
#include "io/call.h"
#include "io/message.h"

// clang-format off
CALL(ssize_t, fin_send, (int fd, const void *data, size_t size, int flags),
     .op = IORING_OP_SEND, .fd = fd, .addr = data, .len = fin_io_most(size), .flags = (uint32_t)flags | MSG_NOSIGNAL)
CALL(ssize_t, fin_recv, (int fd, void *buffer, size_t size, int flags),
     .op = IORING_OP_RECV, .fd = fd, .addr = buffer, .len = fin_io_most(size), .flags = (uint32_t)flags)
CALL(int, fin_shutdown, (int fd, int how), .op = IORING_OP_SHUTDOWN, .fd = fd, .len = (uint32_t)how)
// clang-format on

static FIN_BLOCKING int rest(uint64_t ns, bool nc) { return nc ? fin_sleep_nc(ns) : fin_sleep(ns); }

static FIN_BLOCKING int room(int fd, bool nc) {
    int r = fin_io_poll(fd, POLLOUT, nc);
    return r < 0 ? r : 0;
}

// A poll does not tell of the room of a peer that is named by each message, and of what is ready for ever it tells nothing.
bool fin_io_poll_tells_room(int fd, bool waited) {
    bool named = fin_socket_option(fd, SO_DOMAIN) == AF_UNIX && fin_socket_option(fd, SO_TYPE) != SOCK_STREAM;
    return !named && !(waited && fin_io_ready_now(fin_io_descriptor(fd), POLLOUT) > 0);
}

// A ring that waits for room for a datagram of a Unix socket goes on where the first attempt stopped taking its data, at
// the end: what goes out is empty (Linux 6.18). And where a peer has sent its last the wait may take a thread of it. So
// it does not wait.
static FIN_BLOCKING ssize_t send_message(int fd, const struct msghdr *m, int flags, bool nc) {
    struct call c = {.op = IORING_OP_SENDMSG, .fd = fd, .addr = m, .len = 1, .flags = (uint32_t)flags | MSG_NOSIGNAL,
                     .nc = nc, .since = fin_closes_now()};
    if (flags & MSG_DONTWAIT || (flags & MSG_WAITALL && fin_socket_option(fd, SO_TYPE) == SOCK_STREAM))
        return run(c);
    c.flags = (c.flags & ~(uint32_t)MSG_WAITALL) | MSG_DONTWAIT;
    int plain = FIN_UNLIKELY(fd >= FIXED) ? fin_io_descriptor(fd) : fd;
    ssize_t n = run(c);
    if (FIN_LIKELY(n != -EAGAIN))
        return n;
    bool waited = false;
    c.fd = fd = plain; // whatever becomes of a registered number meanwhile
    for (uint64_t ns = 10 * FIN_US; n == -EAGAIN; ns += ns < FIN_MS ? ns : 0) {
        int error = fin_io_closed(&c) ? -EBADF : fin_io_poll_tells_room(fd, waited) ? room(fd, nc) : rest(ns, nc);
        n = error ? error : run_again(c);
        waited = true;
    }
    return n;
}

TWICE(ssize_t, fin_sendmsg, (int fd, const struct msghdr *m, int flags), send_message, fd, m, flags)

static FIN_BLOCKING ssize_t send_to(int fd, const void *data, size_t size, int flags, const struct sockaddr *address,
                                    socklen_t address_size, bool nc) {
    struct iovec v = {(void *)data, fin_io_most(size)};
    struct msghdr m = {.msg_name = (void *)address, .msg_namelen = address_size, .msg_iov = &v, .msg_iovlen = 1};
    return send_message(fd, &m, flags, nc);
}

TWICE(ssize_t, fin_sendto,
      (int fd, const void *data, size_t size, int flags, const struct sockaddr *address, socklen_t address_size), send_to,
      fd, data, size, flags, address, address_size)

static FIN_BLOCKING ssize_t recv_message(int fd, struct msghdr *m, int flags, bool nc) {
    struct call c = {.op = IORING_OP_RECVMSG, .fd = fd, .addr = m, .len = 1, .flags = (uint32_t)flags, .nc = nc};
    return m && m->msg_control && m->msg_controllen ? fin_message_recv(c, m) : run(c);
}

TWICE(ssize_t, fin_recvmsg, (int fd, struct msghdr *m, int flags), recv_message, fd, m, flags)

static FIN_BLOCKING ssize_t recv_from(int fd, void *buffer, size_t size, int flags, struct sockaddr *address,
                                      socklen_t *address_size, bool nc) {
    struct iovec v = {buffer, fin_io_most(size)};
    struct msghdr m = {.msg_name = address, .msg_iov = &v, .msg_iovlen = 1};
    if (address)
        m.msg_namelen = *address_size;
    ssize_t n = nc ? fin_recvmsg_nc(fd, &m, flags) : fin_recvmsg(fd, &m, flags);
    if (n >= 0 && address)
        *address_size = m.msg_namelen;
    return n;
}

TWICE(ssize_t, fin_recvfrom,
      (int fd, void *buffer, size_t size, int flags, struct sockaddr *address, socklen_t *address_size), recv_from, fd,
      buffer, size, flags, address, address_size)

static bool shortage(int error) { return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM; }

// A thread that cannot get what it waits with, as that takes descriptors, too, naps; others of its AWEs run in between.
static FIN_BLOCKING int pause_anyhow(uint64_t ns, bool nc) {
    int r = rest(ns, nc);
    uint64_t until = fin_now() + ns;
    while (r != 0 && r != -ECANCELED && fin_now() < until) {
        fin_host_nap();
        fin_yield();
        r = !nc && fin_cancelled() ? -ECANCELED : r;
    }
    return r == -ECANCELED ? r : 0;
}

// The connection stays in the listener's queue. A shortage that does not pass is reported, but no loop around this can spin.
static FIN_BLOCKING int accept_it(int fd, struct sockaddr *address, socklen_t *size, int flags, bool nc) {
    struct call c = {.op = IORING_OP_ACCEPT, .fd = fd, .addr = address, .off = word(size), .flags = (uint32_t)flags,
                     .nc = nc, .since = fin_closes_now()};
    int plain = fin_io_descriptor(fd), r = run(c);
    c.fd = plain; // whatever becomes of a registered number meanwhile
    for (uint64_t ns = FIN_MS; FIN_UNLIKELY(shortage(r)) && ns <= 64 * FIN_MS; ns *= 2) {
        r = pause_anyhow(ns, nc);
        if (r != 0)
            return r;
        r = (int)run_again(c);
    }
    return r;
}

TWICE(int, fin_accept, (int fd, struct sockaddr *address, socklen_t *size), accept_it, fd, address, size, 0)
TWICE(int, fin_accept4, (int fd, struct sockaddr *address, socklen_t *size, int flags), accept_it, fd, address, size, flags)

static FIN_BLOCKING int connect_to(int fd, const struct sockaddr *address, socklen_t size, bool nc) {
    struct call c = {
        .op = IORING_OP_CONNECT, .fd = fd, .addr = address, .off = size, .nc = nc, .since = fin_closes_now()};
    int plain = fin_io_descriptor(fd), r;
    while (fin_io_too_many_to_accept(&c, r = (int)run_again(c))) {
        c.fd = plain; // whatever becomes of a registered number meanwhile
        r = rest(FIN_MS, nc);
        if (r != 0)
            break;
    }
    return r;
}

TWICE(int, fin_connect, (int fd, const struct sockaddr *address, socklen_t size), connect_to, fd, address, size)

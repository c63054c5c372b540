// SPDX-License-Identifier: BSD-2-Clause
// Sockets: TCP, UDP, Unix and others. See fin/io.h for what holds for all calls: results, cancellation, counts. System calls
// that do not wait have no function here: socket, bind, listen, setsockopt.
#ifndef FIN_SOCKET_H
#define FIN_SOCKET_H

#include <fin/finish.h>

#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// Accept a connection. If the process or the system is out of descriptors or memory (-EMFILE, -ENFILE, -ENOBUFS, -ENOMEM)
// they try again for an eighth of a second, with growing pauses, before they say so: a server that simply goes on after an
// error does not spin, and the connection stays in the listener's queue. (A thread that cannot even get what it waits with
// pauses with all its AWEs for a millisecond at a time.) Cancelled meanwhile: -ECANCELED, and nothing was accepted. A
// listener that several processes accept from should be in non-blocking mode: without io_uring each accept puts it into that
// mode for a moment, and with it one that is cancelled as a connection comes. Other processes may see that, and may end it
// early, so that the accept blocks the thread. With io_uring, of connections that come in the moment of a cancel Linux may
// tell nobody but the accept that is cancelled: other threads hear of those it does not take, other processes only with the
// next connection; so do all others of one that a thread leaves waiting when it ends, before Linux 5.19.
FIN_BLOCKING int fin_accept(int fd, struct sockaddr *address, socklen_t *size);
FIN_BLOCKING int fin_accept_nc(int fd, struct sockaddr *address, socklen_t *size);
FIN_BLOCKING int fin_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
FIN_BLOCKING int fin_accept4_nc(int fd, struct sockaddr *address, socklen_t *size, int flags);

// Connects a socket. After -ECANCELED, or if the peer refuses or does not answer, the attempt has ended and the socket is
// not connected: it may be connected to another address.
FIN_BLOCKING int fin_connect(int fd, const struct sockaddr *address, socklen_t size);
FIN_BLOCKING int fin_connect_nc(int fd, const struct sockaddr *address, socklen_t size);

// Connects to one of the addresses of a list, as getaddrinfo(3) makes it: to the one that answers first (RFC 8305, "happy
// eyeballs"). The first begins; the next does when one has failed, or `delay` ns after that, for which 250 * FIN_MS is
// usual; so one that leads nowhere costs no more than that. Families take turns. When one is connected all other attempts
// end. What is not SOCK_STREAM is passed over. Returns the socket, which is the caller's to close (SOCK_CLOEXEC); or a
// negative errno, and there is none: -EINVAL, no such address in the list; -ECANCELED; -EMFILE and the like of socket(2); or
// why the attempt failed that did so first, but one without a way there (-ENETUNREACH, -EHOSTUNREACH, -EADDRNOTAVAIL,
// -EAFNOSUPPORT) only where there is no other. What one attempt wins while it is cancelled is returned. The list is read
// until then. Blocking. From any thread. (fin_connect_host in fin/resolve.h takes a name.)
struct addrinfo;
FIN_BLOCKING int fin_connect_any(const struct addrinfo *list, uint64_t delay);
FIN_BLOCKING int fin_connect_any_nc(const struct addrinfo *list, uint64_t delay);

// Send and receive. MSG_NOSIGNAL is always set. MSG_WAITALL is a hint that not every kernel follows; fin_recv_all always
// receives all. fin_recvmsg with room for control data may need memory: -ENOMEM, and nothing was received.
FIN_BLOCKING ssize_t fin_send(int fd, const void *data, size_t size, int flags);
FIN_BLOCKING ssize_t fin_send_nc(int fd, const void *data, size_t size, int flags);
FIN_BLOCKING ssize_t fin_recv(int fd, void *buffer, size_t size, int flags);
FIN_BLOCKING ssize_t fin_recv_nc(int fd, void *buffer, size_t size, int flags);
FIN_BLOCKING ssize_t fin_sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to,
                                socklen_t to_size);
FIN_BLOCKING ssize_t fin_sendto_nc(int fd, const void *data, size_t size, int flags, const struct sockaddr *to,
                                   socklen_t to_size);
FIN_BLOCKING ssize_t fin_recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *from, socklen_t *from_size);
FIN_BLOCKING ssize_t fin_recvfrom_nc(int fd, void *buffer, size_t size, int flags, struct sockaddr *from,
                                     socklen_t *from_size);
FIN_BLOCKING ssize_t fin_sendmsg(int fd, const struct msghdr *message, int flags);
FIN_BLOCKING ssize_t fin_sendmsg_nc(int fd, const struct msghdr *message, int flags);
FIN_BLOCKING ssize_t fin_recvmsg(int fd, struct msghdr *message, int flags);
FIN_BLOCKING ssize_t fin_recvmsg_nc(int fd, struct msghdr *message, int flags);

// Send and receive on streams, going on until all is transferred. The results and *done as of fin_read_all (fin/file.h).
FIN_BLOCKING int fin_send_all(int fd, const void *data, size_t size, int flags, size_t *done);
FIN_BLOCKING int fin_send_all_nc(int fd, const void *data, size_t size, int flags, size_t *done);
FIN_BLOCKING int fin_recv_all(int fd, void *buffer, size_t size, int flags, size_t *done);
FIN_BLOCKING int fin_recv_all_nc(int fd, void *buffer, size_t size, int flags, size_t *done);

// Shuts a connection down. Calls that wait for the socket end: with 0, as at the end of what is read, or with -EPIPE.
// A listener: what accepts from it, or does so later, ends with -EINVAL; connections that have been accepted go on.
FIN_BLOCKING int fin_shutdown(int fd, int how);
FIN_BLOCKING int fin_shutdown_nc(int fd, int how);

#ifdef __cplusplus
}
#endif
#endif

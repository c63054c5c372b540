// SPDX-License-Identifier: BSD-2-Clause
// Many results of one request: the connections of a listening socket, or the pieces of what a socket receives. And buffers
// that are taken only when data is there, so that an idle connection holds none.
//
// If the kernel cannot do that (for connections before Linux 5.19, for pieces before 6.0, for both without io_uring) the
// same functions ask for each result by itself.
//
// All objects here belong to the thread that made them: on another thread their functions return -EXDEV. Objects that a
// thread leaves open are closed when it ends. After a fork they are the parent's; in the child their functions return
// -EXDEV.
#ifndef FIN_STREAM_H
#define FIN_STREAM_H

#include <fin/io.h>

#ifdef __cplusplus
extern "C" {
#endif

// Accepts on the listening socket fd, which stays the program's; with flags as of accept4. Returns 0, -ENOMEM, -EBADF for
// a registered number (fin/fixed.h), or the error of getting what the thread waits with. Does not block; accepting begins
// with the first fin_acceptor_next.
struct fin_acceptor;
int fin_acceptor_open(struct fin_acceptor **out, int fd, int flags);

// The descriptor of the next connection, in the order of their arrival. It may have been accepted before it was asked for.
// Several AWEs may wait, and are served in the order in which they came. If there are no descriptors or there is no memory
// for a connection (-EMFILE, -ENFILE, -ENOBUFS, -ENOMEM) it waits, in pauses of 1 ms growing to 128 ms, and tries again; a
// connection that was aborted before it was taken is passed over. Other errors are returned. Blocking. A cancelled call took
// none: what has arrived or is arriving is there for the next call.
FIN_BLOCKING int fin_acceptor_next(struct fin_acceptor *a);
FIN_BLOCKING int fin_acceptor_next_nc(struct fin_acceptor *a);

// Accepts no more. fin_acceptor_next still returns the connections that were accepted already, and after those -ESHUTDOWN.
// Returns 0; -EBUSY if an AWE is in fin_acceptor_next or here. Who asks meanwhile hears when it has stopped. Blocking, not
// cancellable.
FIN_BLOCKING int fin_acceptor_stop(struct fin_acceptor *a);

// Stops, closes the connections that nobody took, and frees a. Returns how many those were, or as fin_acceptor_stop. -EBUSY
// also, after it has stopped, if an AWE has asked meanwhile.
FIN_BLOCKING int fin_acceptor_close(struct fin_acceptor *a);

// Makes `count` buffers (1 to 32768) of `size` bytes each. Returns 0, -EINVAL, -ENOMEM, or as fin_acceptor_open. Does not
// block.
struct fin_buffers;
int fin_buffers_open(struct fin_buffers **out, unsigned count, size_t size);

// Frees the buffers, also those that the program has not put back. -EBUSY while receivers use them, or AWEs wait for data or
// for a buffer. Does not block.
int fin_buffers_close(struct fin_buffers *b);

// Receives into a buffer that becomes the program's until fin_buffers_put; *piece is its address. Returns the count of
// bytes; at the end of the stream 0. Then, and with every error, there is no buffer (*piece is NULL). If all buffers are in
// use it waits for one to be put back. `flags` may be 0 or MSG_DONTWAIT: with that it returns -EAGAIN instead of waiting,
// and -ENOBUFS if there is no buffer. Blocking. A cancelled call received nothing.
FIN_BLOCKING ssize_t fin_buffers_recv(struct fin_buffers *b, int fd, void **piece, int flags);
FIN_BLOCKING ssize_t fin_buffers_recv_nc(struct fin_buffers *b, int fd, void **piece, int flags);

// Gives a buffer back; `piece` may point anywhere into it. Returns 0, or -EINVAL if that is not a buffer that the program
// has. Does not block.
int fin_buffers_put(struct fin_buffers *b, void *piece);

// Receives all that comes to fd, piece by piece, into buffers of b. Nobody else should receive from fd meanwhile. Returns 0,
// -ENOMEM, -EBADF as fin_acceptor_open, -EXDEV. Does not block; receiving begins with the first fin_receiver_next.
struct fin_receiver;
int fin_receiver_open(struct fin_receiver **out, int fd, struct fin_buffers *b);

// The next piece, as from fin_buffers_recv; it may have been received before it was asked for. 0 at the end of the stream.
// One AWE at a time: -EBUSY. After an error or the end the next call receives again. Blocking.
// A cancelled call returned nothing: what was received or is being received is there for the next call.
FIN_BLOCKING ssize_t fin_receiver_next(struct fin_receiver *r, void **piece);
FIN_BLOCKING ssize_t fin_receiver_next_nc(struct fin_receiver *r, void **piece);

// Receives no more: what comes later stays in the socket. fin_receiver_next still returns what was received already, in
// order, and after that -ESHUTDOWN. Returns 0; -EBUSY if an AWE is in fin_receiver_next or here. Blocking, not cancellable.
FIN_BLOCKING int fin_receiver_stop(struct fin_receiver *r);

// Stops, puts back the buffers that fin_receiver_next has not returned, and frees r. Returns how many bytes those had, or as
// fin_receiver_stop.
FIN_BLOCKING ssize_t fin_receiver_close(struct fin_receiver *r);

#ifdef __cplusplus
}
#endif
#endif

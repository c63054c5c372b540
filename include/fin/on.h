// SPDX-License-Identifier: BSD-2-Clause
// I/O that an AWE waits for with a continuation (fin/cont.h): the running AWE gives up its stack, and its continuation is
// called with what the function of the same name without _on would have returned. So an idle connection costs its AWE, 120
// bytes, and the struct fin_on, which holds the request and most likely lies in the program's own object for the connection.
//
//     static void received(void *state, int n) {
//         struct connection *c = *(struct connection **)state;
//         if (n <= 0)
//             close_it(c); // ends with fin_cont_end
//         ...
//         fin_recv_on(&c->on, c->fd, c->buffer, sizeof c->buffer, 0, received, &c, sizeof c);
//     }
//
// The struct fin_on, buffers and addresses must stay valid until the continuation runs, which is after the kernel's last use
// of them; so they must not lie in the frame of the caller, which is lost. Cancellation is exact, as everywhere (fin/io.h).
//
// None of these functions returns, unless it is refused: then nothing has happened, and it returns a negative errno, one of
// fin_block_on's or of a thread that cannot get what it needs to wait. Reads and writes at the position of a regular file or
// block device (fin_read_on, fin_readv_on, ...) keep the stack while they wait. If only epoll is available so does whatever
// else opens, reads, writes, syncs or asks about files; what the program sees is the same.
#ifndef FIN_ON_H
#define FIN_ON_H

#include <fin/cont.h>
#include <fin/io.h>

#ifdef __cplusplus
extern "C" {
#endif

// Storage for a wait; for one at a time. It needs no initialization, and nothing is left in it afterwards.
struct fin_on {
    uint64_t room[32];
};

// As fin_sleep, fin_sleep_until; fin_poll, fin_read, fin_write, fin_pread, fin_pwrite, fin_readv, fin_writev, fin_recv and
// fin_send. The vectors are read until the continuation runs.
int fin_sleep_on(struct fin_on *on, uint64_t ns, fin_cont *cont, const void *state, size_t size);
int fin_sleep_until_on(struct fin_on *on, uint64_t when, fin_cont *cont, const void *state, size_t size);
int fin_poll_on(struct fin_on *on, int fd, int events, fin_cont *cont, const void *state, size_t size);
// Whether opening a FIFO waits for its other end depends on the back end and on the flags; a cancel ends such a wait.
int fin_openat_on(struct fin_on *on, int dir, const char *path, int flags, mode_t mode, fin_cont *cont, const void *state,
                  size_t size);
int fin_read_on(struct fin_on *on, int fd, void *buffer, size_t bytes, fin_cont *cont, const void *state, size_t size);
int fin_write_on(struct fin_on *on, int fd, const void *data, size_t bytes, fin_cont *cont, const void *state, size_t size);
int fin_pread_on(struct fin_on *on, int fd, void *buffer, size_t bytes, off_t offset, fin_cont *cont, const void *state,
                 size_t size);
int fin_pwrite_on(struct fin_on *on, int fd, const void *data, size_t bytes, off_t offset, fin_cont *cont,
                  const void *state, size_t size);
int fin_readv_on(struct fin_on *on, int fd, const struct iovec *buffers, int count, fin_cont *cont, const void *state,
                 size_t size);
int fin_writev_on(struct fin_on *on, int fd, const struct iovec *buffers, int count, fin_cont *cont, const void *state,
                  size_t size);
int fin_recv_on(struct fin_on *on, int fd, void *buffer, size_t bytes, int flags, fin_cont *cont, const void *state,
                size_t size);
int fin_send_on(struct fin_on *on, int fd, const void *data, size_t bytes, int flags, fin_cont *cont, const void *state,
                size_t size);
// As fin_fsync, fin_fdatasync, fin_statx.
int fin_fsync_on(struct fin_on *on, int fd, fin_cont *cont, const void *state, size_t size);
int fin_fdatasync_on(struct fin_on *on, int fd, fin_cont *cont, const void *state, size_t size);
int fin_statx_on(struct fin_on *on, int dir, const char *path, int flags, unsigned mask, struct statx *out, fin_cont *cont,
                 const void *state, size_t size);
// As fin_offload (fin/offload.h): also for all that has no function here. Once fn has begun, a cancel does not end the wait.
int fin_offload_on(struct fin_on *on, void (*fn)(void *), void *arg, fin_cont *cont, const void *state, size_t size);
// fin_sleep_until, then fin_send, in one wait: whoever ends the sleep begins the sending. The data is looked at only then.
int fin_send_at_on(struct fin_on *on, uint64_t when, int fd, const void *data, size_t bytes, int flags, fin_cont *cont,
                   const void *state, size_t size);
// As fin_accept4 without an address; a shortage of descriptors is reported at once.
int fin_accept_on(struct fin_on *on, int fd, int flags, fin_cont *cont, const void *state, size_t size);
// As fin_acceptor_next (fin/stream.h), in one line with those who wait there; a shortage of descriptors is reported at once.
// Without io_uring fin_acceptor_stop does not know of AWEs that wait in this way: they still get their connections.
struct fin_acceptor;
int fin_acceptor_next_on(struct fin_acceptor *a, struct fin_on *on, fin_cont *cont, const void *state, size_t size);

// As fin_receiver_next (fin/stream.h); *piece is set when the continuation runs. Only if buffers are lacking, or have been,
// does it wait for one with a stack, and then not before there is data.
struct fin_receiver;
int fin_receiver_next_on(struct fin_receiver *r, void **piece, struct fin_on *on, fin_cont *cont, const void *state,
                         size_t size);

// As fin_buffers_recv (fin/stream.h), without flags; *piece is set when the continuation runs. If buffers are lacking it
// waits for one with a stack, and not before there is data.
struct fin_buffers;
struct fin_buffers_on {
    uint64_t room[44];
};
int fin_buffers_recv_on(struct fin_buffers *b, int fd, void **piece, struct fin_buffers_on *on, fin_cont *cont,
                        const void *state, size_t size);

// Storage, as a struct fin_on is, for a wait that needs more room than a request.
struct fin_more_on {
    uint64_t room[52];
};

// As fin_read_all, fin_write_all, fin_recv_all and fin_send_all: until all is transferred. *done, if done is not NULL, is
// what that was when the continuation runs.
int fin_read_all_on(struct fin_more_on *on, int fd, void *buffer, size_t bytes, size_t *done, fin_cont *cont,
                    const void *state, size_t size);
int fin_write_all_on(struct fin_more_on *on, int fd, const void *data, size_t bytes, size_t *done, fin_cont *cont,
                     const void *state, size_t size);
int fin_recv_all_on(struct fin_more_on *on, int fd, void *buffer, size_t bytes, int flags, size_t *done, fin_cont *cont,
                    const void *state, size_t size);
int fin_send_all_on(struct fin_more_on *on, int fd, const void *data, size_t bytes, int flags, size_t *done, fin_cont *cont,
                    const void *state, size_t size);

// As fin_close and fin_close_nc (fin/file.h). The stack is kept only where a chain of requests (fin/linked.h) that is under
// way names the descriptor.
int fin_close_on(struct fin_more_on *on, int fd, fin_cont *cont, const void *state, size_t size);
int fin_close_on_nc(struct fin_more_on *on, int fd, fin_cont *cont, const void *state, size_t size);

// As fin_recvmsg and fin_recvfrom (fin/socket.h): *message, what it points to, *from and *from_size are read and written
// until the continuation runs. -ENOMEM, if there is no memory for control data, is a refusal.
struct msghdr;
struct sockaddr;
int fin_recvmsg_on(struct fin_more_on *on, int fd, struct msghdr *message, int flags, fin_cont *cont, const void *state,
                   size_t size);
int fin_recvfrom_on(struct fin_more_on *on, int fd, void *buffer, size_t bytes, int flags, struct sockaddr *from,
                    socklen_t *from_size, fin_cont *cont, const void *state, size_t size);

// As fin_sendmsg and fin_sendto (fin/socket.h): *message, what it points to, the data and *to are read until the
// continuation runs.
int fin_sendmsg_on(struct fin_more_on *on, int fd, const struct msghdr *message, int flags, fin_cont *cont,
                   const void *state, size_t size);
int fin_sendto_on(struct fin_more_on *on, int fd, const void *data, size_t bytes, int flags, const struct sockaddr *to,
                  socklen_t to_size, fin_cont *cont, const void *state, size_t size);

// As fin_connect (fin/socket.h): a wait that is cancelled leaves the socket as it was before.
int fin_connect_on(struct fin_more_on *on, int fd, const struct sockaddr *address, socklen_t bytes, fin_cont *cont,
                   const void *state, size_t size);

// As fin_signals_next (fin/signals.h); *info is set when the continuation runs.
struct fin_signals;
struct fin_signal_info;
int fin_signals_next_on(struct fin_signals *s, struct fin_signal_info *info, struct fin_more_on *on, fin_cont *cont,
                        const void *state, size_t size);

// As fin_wait and fin_wait_nc (fin/process.h); *status is set when the continuation runs. The handle must stay where it is
// until then. Where the process is traced, and its tracer has not been told of the end, they keep the stack.
struct fin_process;
int fin_wait_on(struct fin_process *p, int *status, struct fin_more_on *on, fin_cont *cont, const void *state, size_t size);
int fin_wait_on_nc(struct fin_process *p, int *status, struct fin_more_on *on, fin_cont *cont, const void *state,
                   size_t size);

#ifdef __cplusplus
}
#endif
#endif

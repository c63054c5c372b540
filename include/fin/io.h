// SPDX-License-Identifier: BSD-2-Clause
// I/O and time. Each function has the argument order of the system call of its name and returns its result, or a negative
// errno. Only the calling AWE waits; the thread's other AWEs run on, and the thread sleeps in one place where it has none.
//
// Cancellation is exact (ac 2.2): a cancelled call returns -ECANCELED and did nothing, or it did its work and returns the
// result. In a block that is cancelled already nothing is started. The functions whose names end in _nc are not cancelled.
// Buffers, addresses and paths must stay valid until the call returns; they are never used afterwards.
//
// Counts may be short wherever those of the system call may be, and also where a blocking write to a pipe or socket would
// have gone on. A call waits whatever the mode of its descriptor; only MSG_DONTWAIT makes it return -EAGAIN instead.
//
// A thread uses one io_uring of its own from its first call here on. Where the system denies io_uring (many containers) it
// uses epoll instead; there, operations on regular files, fin_openat, fin_statx and fin_fsync block the whole thread.
// The environment variable FIN_IO chooses: "epoll"; "plain" for io_uring without the features of kernels after 5.15.
//
// All functions may block and may be called from any thread, also outside any finish block. Beside the errors of the system
// call they return -EMFILE, -ENFILE or -ENOMEM where the thread cannot get what it waits with.
#ifndef FIN_IO_H
#define FIN_IO_H

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // the names of nested fin_timeout shadow each other on purpose
#endif

#include <fin/async.h>

#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct statx;

#define FIN_US UINT64_C(1000)
#define FIN_MS UINT64_C(1000000)
#define FIN_S UINT64_C(1000000000)

// Nanoseconds of CLOCK_MONOTONIC. Does not block.
uint64_t fin_now(void);

// Return 0 not before the time is over; -ECANCELED where cancelled earlier. Time in nanoseconds, as of fin_now.
FIN_BLOCKING int fin_sleep(uint64_t ns);
FIN_BLOCKING int fin_sleep_nc(uint64_t ns);
FIN_BLOCKING int fin_sleep_until(uint64_t when);
FIN_BLOCKING int fin_sleep_until_nc(uint64_t when);

// At the file's position. To write to a pipe or socket that nobody reads raises SIGPIPE, as write(2) does; fin_send does not.
FIN_BLOCKING ssize_t fin_read(int fd, void *buffer, size_t size);
FIN_BLOCKING ssize_t fin_read_nc(int fd, void *buffer, size_t size);
FIN_BLOCKING ssize_t fin_write(int fd, const void *data, size_t size);
FIN_BLOCKING ssize_t fin_write_nc(int fd, const void *data, size_t size);

FIN_BLOCKING ssize_t fin_pread(int fd, void *buffer, size_t size, off_t offset);
FIN_BLOCKING ssize_t fin_pread_nc(int fd, void *buffer, size_t size, off_t offset);
FIN_BLOCKING ssize_t fin_pwrite(int fd, const void *data, size_t size, off_t offset);
FIN_BLOCKING ssize_t fin_pwrite_nc(int fd, const void *data, size_t size, off_t offset);

// A cancelled open that had opened the file returns its descriptor. A FIFO is opened without waiting for its other end,
// as with O_NONBLOCK.
FIN_BLOCKING int fin_openat(int dir, const char *path, int flags, mode_t mode);
FIN_BLOCKING int fin_openat_nc(int dir, const char *path, int flags, mode_t mode);

// -ECANCELED: the descriptor is still open. Code that cleans up wants fin_close_nc. Once begun it is not cancelled.
FIN_BLOCKING int fin_close(int fd);
FIN_BLOCKING int fin_close_nc(int fd);

FIN_BLOCKING int fin_accept(int fd, struct sockaddr *address, socklen_t *size);
FIN_BLOCKING int fin_accept_nc(int fd, struct sockaddr *address, socklen_t *size);
FIN_BLOCKING int fin_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
FIN_BLOCKING int fin_accept4_nc(int fd, struct sockaddr *address, socklen_t *size, int flags);

// -ECANCELED: the attempt has ended and the socket is not connected.
FIN_BLOCKING int fin_connect(int fd, const struct sockaddr *address, socklen_t size);
FIN_BLOCKING int fin_connect_nc(int fd, const struct sockaddr *address, socklen_t size);

// MSG_NOSIGNAL is always set.
FIN_BLOCKING ssize_t fin_send(int fd, const void *data, size_t size, int flags);
FIN_BLOCKING ssize_t fin_send_nc(int fd, const void *data, size_t size, int flags);
FIN_BLOCKING ssize_t fin_recv(int fd, void *buffer, size_t size, int flags);
FIN_BLOCKING ssize_t fin_recv_nc(int fd, void *buffer, size_t size, int flags);

// Waits until one of the events (POLLIN, POLLOUT, ...) holds, or POLLERR or POLLHUP; returns those that do.
FIN_BLOCKING int fin_poll(int fd, int events);
FIN_BLOCKING int fin_poll_nc(int fd, int events);

FIN_BLOCKING int fin_fsync(int fd);
FIN_BLOCKING int fin_fsync_nc(int fd);
FIN_BLOCKING int fin_statx(int dir, const char *path, int flags, unsigned mask, struct statx *out);
FIN_BLOCKING int fin_statx_nc(int dir, const char *path, int flags, unsigned mask, struct statx *out);

// What the calling thread's I/O goes through, and where that is not io_uring, why. Does not block.
const char *fin_io_backend(void);

// fin_timeout(ns) { ... }: a finish block that is cancelled when the time is over (ac figure 4). It ends when its work ends;
// return, break and goto leave it as they leave fin_finish. With 0 it is cancelled from the start. The time is looked at when
// the thread's AWEs block or yield.
//
//     fin_timeout(100 * FIN_MS) {
//         n = fin_recv(fd, buffer, sizeof buffer, 0);
//     }
//     if (n == -ECANCELED && fin_timed_out())
//
// Where the thread cannot get what it waits with, the block is cancelled at once.

// Did the time run out of the fin_timeout block that ended last on this thread? Ask right after the block, before the next
// call that may block. (It may have, and the work be done all the same.) Does not block.
bool fin_timed_out(void);

struct fin_timer {
    uint64_t due, order;
    struct fin_timer *child, *next, *prev; // pairing heap
    void (*fn)(struct fin_timer *);
    void *arg;
    void *io; // whose heap it is in
};

struct fin_timeout_block {
    struct fin_finish_block block;
    struct fin_timer timer;
};

void fin_timeout_begin_(struct fin_finish_block *block, struct fin_timer *timer, uint64_t ns);
void fin_timeout_end_(struct fin_timer *timer);

FIN_INLINE_ struct fin_finish_block *fin_timeout_enter_(struct fin_timeout_block *t, uint64_t ns) {
    fin_finish_enter_(&t->block, 0);
    fin_timeout_begin_(&t->block, &t->timer, ns);
    return &t->block;
}

FIN_INLINE_ void fin_timeout_leave_(struct fin_timeout_block *t) {
    fin_finish_leave_(&t->block);
    fin_timeout_end_(&t->timer);
}

#ifdef __cplusplus
}
#endif

#if defined(FIN_ELIDE)
#define fin_timeout(ns) FIN_ELIDED_FINISH_(fin_no_label_)
#elif !defined(__cplusplus)
// Two loops, because the names that fin_async and fin_cancel look for have another type than what is cleaned up.
#define fin_timeout(ns)                                                                                                     \
    for (struct fin_timeout_block fin_timeout_ __attribute__((cleanup(fin_timeout_leave_), unused)),                        \
         *fin_timeout_once_ = (FIN_ARCH_FRAME_POINTER_(), &fin_timeout_);                                                   \
         fin_timeout_once_; fin_timeout_once_ = NULL)                                                                       \
        for (struct fin_finish_block *const fin_async_must_be_inside_fin_finish                                             \
             __attribute__((unused)) = fin_timeout_enter_(&fin_timeout_, (ns)),                                             \
             *const fin_cancel_must_be_inside_fin_finish __attribute__((unused)) = fin_async_must_be_inside_fin_finish,     \
             *fin_once_ = fin_async_must_be_inside_fin_finish;                                                              \
             fin_once_; fin_once_ = NULL)
#endif
#endif

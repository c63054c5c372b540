// SPDX-License-Identifier: BSD-2-Clause
// I/O and time. Each function has the argument order of the system call of its name and returns its result, or a negative
// errno. Only the calling AWE waits; the thread's other AWEs run on, and the thread sleeps in one place where it has none.
//
// Cancellation is exact (ac 2.2): a cancelled call returns -ECANCELED and did nothing, or it did its work and returns the
// result. In a block that is cancelled already nothing is started. The functions whose names end in _nc are not cancelled.
// Buffers, addresses and paths must stay valid until the call returns; they are never used afterwards. Bad ones are -EFAULT
// as in the system call, but for what the library reads itself: the size of fin_recvfrom, the offsets of fin_splice and its
// like, a struct open_how, and the header of fin_recvmsg with the control data that it names.
//
// Counts may be short wherever those of the system call may be, and also where a blocking write to a pipe or socket would
// have gone on; one above 0x7ffff000 counts as that. A call waits whatever the mode of its descriptor; only MSG_DONTWAIT,
// RWF_NOWAIT and SPLICE_F_NONBLOCK make it return -EAGAIN instead. A signal interrupts no call.
//
// A thread uses one io_uring of its own from its first call here on. Where the system denies io_uring (many containers) it
// uses epoll instead, and for files, which are always ready and block all the same, the thread pool of fin/offload.h; so
// does io_uring for what its kernel has no operation for. On such a thread a call can be cancelled until it begins; then it
// ends like the system call. fin_close never waits for another thread: the last close of a file may block this one, without
// io_uring. The environment variable FIN_IO chooses: "epoll"; for tests, "plain" for io_uring as Linux 5.15 has it, "5.18",
// "5.19", "6.0" for what those have, "small" for one whose queues hold 8 requests and 16 completions.
//
// Closing a descriptor does not end what waits for it: cancel that, or shut the socket down. (Without io_uring such a wait
// ends with -EBADF if fin_close closed it, in the same thread; close(2) may leave it waiting.) What waited never goes on
// with another file that has got the number, as long as fin_close is used.
//
// The child of a fork begins I/O of its own. What its parent's AWEs wait for does not end in the child, unless it is
// cancelled there, of which the parent hears nothing; and what the parent had cancelled already, or what the pool had begun,
// never does.
//
// All functions may block and may be called from any thread, also outside any finish block. Beside the errors of the system
// call they return -EMFILE, -ENFILE or -ENOMEM where the thread cannot get what it waits with, and -EAGAIN or -ENOMEM where
// the pool gets no thread.
#ifndef FIN_IO_H
#define FIN_IO_H

#include <fin/file.h>
#include <fin/offload.h>
#include <fin/socket.h>
#include <fin/time.h>
#include <fin/xattr.h>

#ifdef __cplusplus
extern "C" {
#endif

// What the calling thread's I/O goes through: io_uring, with what it uses of kernels after 5.15, or epoll, and why. The
// string lasts as long as the thread. Does not block.
const char *fin_io_backend(void);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: BSD-2-Clause
// I/O and time. Each function takes the arguments of the system call of its name, in the same order, and returns its result,
// or a negative errno. Only the calling AWE waits; the thread's other AWEs run on, and when none can run the thread sleeps
// in one place.
//
// Cancellation is exact (ac 2.2): a cancelled call returns -ECANCELED and did nothing, or it did its work and returns the
// result. In a block that is cancelled already nothing is started. The functions whose names end in _nc are not cancelled.
// Buffers, addresses and paths must stay valid until the call returns; they are never used afterwards. Bad ones are -EFAULT
// as in the system call, except those that the library reads itself: the size of fin_recvfrom, the offsets of fin_splice and
// the like, a struct open_how, and the header of fin_recvmsg with the control data that it names.
//
// Counts may be short wherever those of the system call may be, and also where a blocking write to a pipe or socket would
// have gone on; a count above 0x7ffff000 is taken as 0x7ffff000. A call waits whatever the mode of its descriptor; only
// MSG_DONTWAIT, RWF_NOWAIT and SPLICE_F_NONBLOCK make it return -EAGAIN instead. A signal interrupts no call.
//
// A thread uses one io_uring of its own from its first call here on. If the system denies io_uring (as in many containers)
// it uses epoll instead, and the thread pool of fin/offload.h for files, which are always ready and block all the same. The
// pool also does what the kernel's io_uring has no operation for, and what would block at a file's own position. A call that
// goes to the pool can be cancelled until it begins there; then it ends as the system call does. fin_close never waits for
// another thread: without io_uring, or where that gets no thread, the last close of a file may block the calling thread. The
// environment variable FIN_IO chooses: "epoll"; for tests, "plain" or "5.15" for io_uring as Linux 5.15 has it, "5.18",
// "5.19", "6.0" and "6.1" for what those have, "small" for one whose queues hold 8 requests and 16 completions.
//
// Closing a descriptor does not end calls that wait for it: cancel them, or shut the socket down. (Without io_uring such a
// call ends with -EBADF if fin_close closed the descriptor, in the same thread; after close(2) it may stay waiting.) As long
// as fin_close is used, a call that waited never goes on with another file that has got the same number: what would have to
// be tried again with the number ends with -EBADF. (A close in another thread, in the same moment, may be seen too late.)
// That is so for descriptors below 1048576.
//
// The child of a fork begins I/O of its own. In the child, calls that AWEs of the parent were in do not end, unless the
// parent had cancelled them, or they are cancelled there, of which the parent hears nothing.
//
// All functions may block and may be called from any thread, also outside any finish block. A call that need not wait lets
// others run now and then all the same: who reads from a peer that sends without end keeps nobody from running, and hears
// of a cancel or a timeout. Besides the errors of the system call they return -EMFILE, -ENFILE or -ENOMEM if the thread
// cannot get what it needs to wait, without io_uring -ENOSPC if an epoll may watch no more descriptors
// (fs.epoll.max_user_watches in proc(5)), and -EAGAIN or -ENOMEM if the pool gets no thread.
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

// Says what the calling thread's I/O goes through: io_uring, and what it uses of kernels after 5.15; or epoll, and why; or
// "none", and the system call that is denied or fails, where calls that would wait return its error. The string lasts as
// long as the thread. Does not block.
const char *fin_io_backend(void);

#ifdef __cplusplus
}
#endif
#endif

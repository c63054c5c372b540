// SPDX-License-Identifier: BSD-2-Clause
// A thread whose loop is another's: that of GLib, Qt or libuv, or one that the program has around poll(2). That loop sleeps,
// and knows from a descriptor when there is something to do for Fin.
//
//     int fd = fin_embed_fd();   // the loop is to call fin_embed_run when this can be read
//     ...
//     fin_embed_run();           // and each time before it sleeps: uv_prepare_t, the prepare of a GSource, and so on
//
// The AWE that runs the loop, one of the thread's, calls fin_embed_run; the others run meanwhile, and otherwise only where a
// callback starts one (fin_async_in: until it waits) or itself waits. For that the loop stands still, as for a callback that
// calls read(2). What callbacks do that does not wait, such as fin_async_in, fin_schedule, fin_event_advance or
// fin_cancel_block, needs no more than that fin_embed_run is called before the loop sleeps. docs/callbacks.md has a whole
// program.
//
// FIN_HELD_MS does not look at the callbacks. In a thread with a monitored waitset (fin/alert.h) messages of other processes
// are signals, which interrupt the loop's system calls (EINTR).
#ifndef FIN_EMBED_H
#define FIN_EMBED_H

#include <fin/awe.h>

#ifdef __cplusplus
extern "C" {
#endif

// The calling thread's descriptor: poll(2), an epoll or a loop says that it can be read (POLLIN, not edge triggered) when
// fin_embed_run has something to do: I/O has come to its end, a time is over, or another thread has woken an AWE or raised
// an alert. It is the same until the thread ends, which closes it; the program only waits for it. The child of a fork asks
// for another. It is an epoll, through which the thread's I/O goes: an io_uring's own descriptor does not tell of
// everything. So this comes before the thread's first call of I/O or time. Does not block. Returns the descriptor; -EBUSY
// where the thread has an io_uring by now; -EMFILE, -ENFILE, -ENOMEM; or what denies one, as -EPERM or -ENOSYS.
int fin_embed_fd(void);

// Runs the calling thread's other AWEs, and hands what they ask for to the system, without waiting for anything: until
// nobody can run any more, or for about a millisecond, and then the descriptor can be read at once. Blocking, in that
// others run; not cancelled. Returns 0, or an error as fin_embed_fd.
FIN_BLOCKING int fin_embed_run(void);

#ifdef __cplusplus
}
#endif
#endif

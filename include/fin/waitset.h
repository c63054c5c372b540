// SPDX-License-Identifier: BSD-2-Clause
// Waitsets: one wait for many channels (htm 2.2.4, 4.3). A channel in a set is an event while a message lies in it, and once
// more when its other end is gone (closed, dead, or caught breaking the protocol: receiving says which). One of the AWEs
// that dispatch calls its handler. Only events cost anything: a wait in a set of ten thousand silent channels costs no more
// than in a set of ten.
//
// A channel is in one of three groups. Polled: it had a message lately, and the AWEs that dispatch look at it. Idle: it was
// silent for long, or everybody sleeps; its sender has been asked to ring. Pending: it is known to have a message. Idle
// channels cost nothing; the kernel, or within a process the sender, makes them pending.
//
// Any thread may call any of these functions, and several AWEs of several threads may dispatch the same set. While a handler
// runs, its channel belongs to the AWE that runs it: no other gets an event of that channel. So one channel may be served by
// different threads in turn, whatever its flags. A thread whose AWE waits here sleeps in the same place as for its I/O.
//
// A handler receives with any of the calls of fin/chan.h. It may block, start work of its own, send, and remove, move or
// close its channel. Before it returns it must release what it peeks at, and any receiving that it started must have ended.
// It must not throw; its AWE may end in it (THCFinish), which counts as its return. Nobody else may wait at a channel that
// is in a set: that is -EBUSY. fin_chan_try_recv and fin_chan_try_peek are allowed at any time; but since the AWEs that
// dispatch look at the channel, on another thread than theirs only if it is FIN_CHAN_SHARED. What comes while a message is
// being peeked at is an event once that is released.
//
// Anything else that there is to wait for becomes an event through a source, which any thread or AWE may trigger:
//
//     fin_async { while (fin_poll(fd, POLLIN) > 0) ... fin_waitset_trigger(&readable); };
//     fin_async { while (fin_sleep(FIN_S) == 0) fin_waitset_trigger(&every_second); };
#ifndef FIN_WAITSET_H
#define FIN_WAITSET_H

#include <fin/chan.h>
#include <fin/sync.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fin_waitset;

// A handler. No C++ exception may leave it.
typedef void fin_waitset_fn(void *arg);

// An event that the program makes. The storage is the program's, and must stay where it is while it is in a set; initialize
// it with {0}.
struct fin_waitset_source {
    struct fin_link link;
    struct fin_waitset *set;
    fin_waitset_fn *fn;
    void *arg;
    struct fin_chan *chan;           // NULL: the program's
    struct fin_waitset_holder_ *held; // who runs its handler now
    struct fin_latch latch;
    uint8_t group;
    bool triggered, told, armed;
    uint16_t silence, line;
};

// Makes a set. It takes no descriptors until a channel between processes is added, and then two. Does not block. Returns 0
// or -ENOMEM.
int fin_waitset_new(struct fin_waitset **out);

// All that is in the set leaves it, and calls on it return -ESHUTDOWN: those that wait, and those that begin from now on.
// That ends the loops of those who dispatch. Handlers that run go on. From any thread, also more than once. Does not block.
void fin_waitset_shutdown(struct fin_waitset *w);

// The same, and the set's memory is given back, once the calls that wait have returned. Nobody may begin another call, or be
// in a call that does not wait: if others dispatch in loops, shut the set down first and let the loops end. The child of a
// fork may close its copy, which changes nothing for the parent. Does not block.
void fin_waitset_close(struct fin_waitset *w);

// Adds a channel or source: from now on fn(arg) is called for its events. Does not block. Returns 0; -EBUSY if it is in a
// set already, is an end for calls (fin/rpc.h), or an AWE is in one of the channel's receiving calls; -ESHUTDOWN; -EMFILE,
// -ENFILE, -ENOMEM, -ENOSPC, -EPERM, -EACCES, -ENOSYS if the system refuses what is needed to watch it.
int fin_waitset_add(struct fin_waitset *w, struct fin_chan *c, fin_waitset_fn *fn, void *arg);
int fin_waitset_add_source(struct fin_waitset *w, struct fin_waitset_source *s, fin_waitset_fn *fn, void *arg);

// Removes a channel or source: its handler is not called any more. A handler that runs goes on; if the channel is added
// again meanwhile, it no longer keeps others away from the channel. fin_chan_close does this itself. Does not block. Returns
// 0; -ENOENT if it is not in this set.
int fin_waitset_remove(struct fin_waitset *w, struct fin_chan *c);
int fin_waitset_remove_source(struct fin_waitset *w, struct fin_waitset_source *s);

// The same, and where another AWE is in the handler waits until it has returned: after that nobody uses the channel or
// source, or what `arg` points to, on behalf of the set. So a connection can be ended from outside of its handler, whoever
// dispatches. Returns also -EDEADLK, having done nothing, to the handler itself; what the handler waits for must not call it
// either. In the child of a fork a handler that another thread of the parent was in is not waited for.
FIN_BLOCKING int fin_waitset_remove_wait_nc(struct fin_waitset *w, struct fin_chan *c);
FIN_BLOCKING int fin_waitset_remove_source_wait_nc(struct fin_waitset *w, struct fin_waitset_source *s);

// Moves a channel, with its handler, from the set that it is in to `to`: no event is lost. If its handler runs, events come
// from `to` once that has returned. Does not block. Returns 0; -ENOENT if it is in no set; or an error of fin_waitset_add,
// and then it stays where it was.
int fin_waitset_move(struct fin_waitset *to, struct fin_chan *c);

// Makes the source an event, unless it is one already. From any thread, not from a signal handler. Does not block. Does
// nothing if the source is in no set; nobody may put it in one, or take it out, at the same time.
void fin_waitset_trigger(struct fin_waitset_source *s);

// Waits for an event, calls its handler, and returns 0 when that has returned. -ECANCELED: no handler was called, and the
// event, if there was one, is still there; -ESHUTDOWN; -EMFILE, -ENFILE, -ENOMEM or -ENOSPC if the thread cannot get what it
// needs to wait. What the handler waits for is cancelled with the finish block around the call, also in the _nc form.
FIN_BLOCKING int fin_waitset_dispatch(struct fin_waitset *w);
FIN_BLOCKING int fin_waitset_dispatch_nc(struct fin_waitset *w);
// As fin_waitset_dispatch, but returns -EAGAIN instead of waiting for an event, and is not cancelled; the handler may block.
// It may take some calls to notice that another process has died, because it does not ask the kernel each time.
FIN_BLOCKING int fin_waitset_dispatch_nonblock(struct fin_waitset *w);

// Is there an event? 0 or -EAGAIN as above; -ESHUTDOWN. The event stays. Does not block.
int fin_waitset_check(struct fin_waitset *w);

// Waits for the next event without calling its handler: *arg is set to the `arg` of fin_waitset_add. The channel stays in
// the set, and its message is another event as long as it lies there: receive it before anything else blocks. So only one
// thread at a time may wait in the set. Otherwise as fin_waitset_dispatch.
FIN_BLOCKING int fin_waitset_next(struct fin_waitset *w, void **arg);
FIN_BLOCKING int fin_waitset_next_nc(struct fin_waitset *w, void **arg);

#ifdef __cplusplus
}
#endif
#endif

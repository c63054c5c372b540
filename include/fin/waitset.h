// SPDX-License-Identifier: BSD-2-Clause
// Waitsets: one wait for many channels (htm 2.2.4, 4.3). A channel in a set is an event while a message lies in it, and once
// more when its other end is gone (closed, dead, caught lying: receiving says which); its handler is called by one of those
// who dispatch. What costs is the events: a set of ten thousand silent channels costs a wait no more than one of ten.
//
// A channel is in one of three groups. Polled: it had a message lately, and those who dispatch look at it. Idle: it was
// silent for long, or everybody sleeps; its sender has been asked to ring. Pending: it is known to have a message. Idle ones
// cost nothing; the kernel, or within a process the sender, makes them pending.
//
// Any thread may call any of these functions, and several AWEs of several threads may dispatch the same set. While a handler
// runs, its channel belongs to that AWE: no other gets an event of it. So one channel may be served by different threads in
// turn, whatever its flags. Who waits sleeps where the I/O of its thread does.
//
// A handler receives with any of the calls of fin/chan.h, may block, start work of its own, send, remove or move its
// channel, or close it. Before it returns it releases what it peeks at, and what it started to receive has ended. It must
// not throw. At a channel in a set nobody else waits: that is -EBUSY. fin_chan_try_recv is allowed at any time; but those
// who dispatch look at the channel, so on another thread than theirs only where it is FIN_CHAN_SHARED.
//
// What else there is to wait for becomes an event through a source, which any thread or AWE triggers:
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

typedef void fin_waitset_fn(void *arg);

// An event that the program makes. The storage is the program's, and stays where it is while in a set; begin with {0}.
struct fin_waitset_source {
    struct fin_link link;
    struct fin_waitset *set;
    fin_waitset_fn *fn;
    void *arg;
    struct fin_chan *chan;           // NULL: the program's
    struct fin_waitset_holder_ *held; // whose handler runs
    struct fin_latch latch;
    uint8_t group;
    bool triggered, told, armed;
    uint16_t silence;
};

// Takes no descriptor before a channel between processes comes in, and then two. Does not block. Returns 0 or -ENOMEM.
int fin_waitset_new(struct fin_waitset **out);

// All that is in the set leaves it, and its calls return -ESHUTDOWN: those that wait, and those that begin from now on. So
// who dispatches in a loop ends it. Handlers that run go on. From any thread, also more than once. Does not block.
void fin_waitset_shutdown(struct fin_waitset *w);

// The same, and its memory is given back, when those that wait have left. Nobody may begin another call, or be in one that
// does not wait: where others dispatch in loops, shut it down and have them end first. Does not block.
void fin_waitset_close(struct fin_waitset *w);

// From now on fn(arg) is called for its events. Does not block. Returns 0; -EBUSY where it is in a set, or an AWE is in one
// of the channel's receiving calls; -ESHUTDOWN; -EMFILE, -ENFILE, -ENOMEM, -ENOSPC where the system refuses what it takes to
// watch it.
int fin_waitset_add(struct fin_waitset *w, struct fin_chan *c, fin_waitset_fn *fn, void *arg);
int fin_waitset_add_source(struct fin_waitset *w, struct fin_waitset_source *s, fin_waitset_fn *fn, void *arg);

// No handler of it is called any more; one that runs goes on, and no longer keeps others away where the channel is added
// again meanwhile. fin_chan_close does this itself. Does not block. Returns 0; -ENOENT where it is not in this set.
int fin_waitset_remove(struct fin_waitset *w, struct fin_chan *c);
int fin_waitset_remove_source(struct fin_waitset *w, struct fin_waitset_source *s);

// It leaves the set that it is in, and with the same handler it is in `to`: no event is lost. Where a handler of it runs,
// events come from `to` when that one has returned. Does not block. Returns 0; -ENOENT where it is in no set, or as
// fin_waitset_add and then it is where it was.
int fin_waitset_move(struct fin_waitset *to, struct fin_chan *c);

// An event, unless it is one already. From any thread, not from a signal handler. Does not block. Does nothing where the
// source is in no set; nobody may put it in one, or take it out, at the same time.
void fin_waitset_trigger(struct fin_waitset_source *s);

// Waits for an event, and returns 0 after its handler has. -ECANCELED: no handler was called, and the event, if there was
// one, is still there; -ESHUTDOWN; -EMFILE, -ENFILE, -ENOMEM where the thread cannot get what it waits with. The handler is
// cancelled as the block is that it runs in, also in _nc.
FIN_BLOCKING int fin_waitset_dispatch(struct fin_waitset *w);
FIN_BLOCKING int fin_waitset_dispatch_nc(struct fin_waitset *w);
// As fin_waitset_dispatch, with -EAGAIN instead of waiting; the handler may block. That another process has died it may
// notice some calls late: it does not ask the kernel each time.
FIN_BLOCKING int fin_waitset_dispatch_nonblock(struct fin_waitset *w);

// Is there an event? 0 or -EAGAIN as above; -ESHUTDOWN. It stays. Does not block.
int fin_waitset_check(struct fin_waitset *w);

// The next event without its handler: *arg is that of fin_waitset_add. The channel is in the set still, and its message
// another event while it lies there: receive it before anything else blocks. So only one thread at a time waits in the set.
// Otherwise as fin_waitset_dispatch.
FIN_BLOCKING int fin_waitset_next(struct fin_waitset *w, void **arg);
FIN_BLOCKING int fin_waitset_next_nc(struct fin_waitset *w, void **arg);

#ifdef __cplusplus
}
#endif
#endif

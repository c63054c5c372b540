// SPDX-License-Identifier: BSD-2-Clause
// LMP: a channel between AWEs of one thread. A receiver that finds nothing leaves word where it waits; the sender gives it
// the message there, past the ring, and puts it on the run queue (continuations 3.3). Only what nobody waits for goes into
// the ring. Invariant: where a receiver waits, the ring is empty. (models/handover.pml)
#ifndef FIN_CHAN_LMP_H
#define FIN_CHAN_LMP_H

#include <sys/types.h>

#include "chan/chan.h"
#include "core/runtime.h"

// In the frame of an AWE that is suspended, or in the program's struct fin_chan_on; only this thread knows it.
struct lmp_waiter {
    struct fin_awe *awe;
    struct fin_cancel_item item;
    struct meeting *at;
    void *buffer;
    size_t size;
    ssize_t result;
    struct fin_chan *on; // where it waits with a continuation: the receiver's end. NULL, or one of the three below
    // Of the first two: takes what fin_chan_send_behind sends, in the sender, and ends the wait if it likes; false: not that
    bool (*take)(struct lmp_waiter *w, uint64_t word, const void *data, size_t size);
    void *arg;
};
#define FIN_LMP_TAKES ((struct fin_chan *)1)
#define FIN_LMP_PEEKS ((struct fin_chan *)2) // it is that of a struct chan_on which peeks (on.h)
#define FIN_LMP_LOOKS ((struct fin_chan *)3) // it only wants to know that there is something
static inline bool lmp_takes(const struct lmp_waiter *w) { return (uintptr_t)w->on - 1 < (uintptr_t)FIN_LMP_PEEKS; }
static inline bool lmp_has_continuation(const struct lmp_waiter *w) { return (uintptr_t)w->on > (uintptr_t)FIN_LMP_LOOKS; }

// Does it want such a message, and has room?
static inline bool lmp_fits(const struct lmp_waiter *w, size_t size) {
    return (!w->on || lmp_has_continuation(w)) && size <= w->size;
}

// recv_on.c: the same for one with a continuation. It has its message, -ECANCELED, or (-EAGAIN) something has happened.
void fin_lmp_tell_on(struct lmp_waiter *w, ssize_t result);
void fin_lmp_tell_peek(struct lmp_waiter *w, ssize_t result); // and for one that peeks

// Pre: both ends are on this thread; nobody else has the turn.

static inline void fin_lmp_go_on(struct lmp_waiter *w, ssize_t result) {
    if (FIN_UNLIKELY(lmp_has_continuation(w))) {
        fin_lmp_tell_on(w, result);
        return;
    }
    w->at->waiter = NULL;
    w->result = result;
    fin_schedule_own(fin_rt(fin_self), w->awe);
}

// Pre: it wants a message, and has room.
static inline void fin_lmp_put(struct lmp_waiter *w, const void *data, size_t size) {
    if (FIN_LIKELY(size <= UMP_FIRST))
        ump_copy_line(w->buffer, data, size);
    else
        memcpy(w->buffer, data, size);
    w->result = (ssize_t)size;
}

// The message goes to who waits. Pre: as above.
static inline void fin_lmp_give(struct lmp_waiter *w, const void *data, size_t size) {
    fin_lmp_put(w, data, size);
    fin_lmp_go_on(w, (ssize_t)size);
}
// A message is in the ring: whoever waits is to look.
void fin_lmp_arrived(struct ump_tx *tx);
// The same where the sender is gone.
void fin_lmp_wake(struct meeting *m);

// Is there no more to it than to wait for a message? Of any channel.
bool fin_lmp_is_plain(struct fin_chan *c);
// Waits at such an end. What its `take` ended the wait with; -ECANCELED; or -EAGAIN: there is something in the ring, or the
// sender is gone.
FIN_BLOCKING ssize_t fin_lmp_read(struct fin_chan *c, struct lmp_waiter *w, bool nc);

// As fin_chan_recv. Pre: the block is not cancelled, unless nc.
FIN_BLOCKING ssize_t fin_lmp_recv(struct fin_chan *c, void *buffer, size_t size, bool nc);
// Waits until there is something in the ring, or the sender is gone: 0; -ECANCELED. Pre: neither is so.
FIN_BLOCKING int fin_lmp_await(struct ump_rx *rx, bool nc);

#endif

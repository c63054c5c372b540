// SPDX-License-Identifier: BSD-2-Clause
// LMP: a channel between AWEs of one thread. A receiver that finds nothing leaves word where it waits; the sender gives it
// the message there, past the ring, and puts it on the run queue (continuations 3.3). Only what nobody waits for goes into
// the ring. Invariant: where a receiver waits, the ring is empty. (models/handover.pml)
#ifndef FIN_CHAN_LMP_H
#define FIN_CHAN_LMP_H

#include <sys/types.h>

#include "chan/chan.h"
#include "core/dispatch.h"

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
// As fin_chan_recv. Pre: the block is not cancelled, unless nc.
FIN_BLOCKING ssize_t fin_lmp_recv(struct fin_chan *c, void *buffer, size_t size, bool nc);
// Waits until there is something in the ring, or the sender is gone: 0; -ECANCELED. Pre: neither is so.
FIN_BLOCKING int fin_lmp_await(struct ump_rx *rx, bool nc);

// ---- the parts of such a wait, for those who wait in place

// Nothing has come, nobody has the turn, and the sender is one of this thread.
static inline bool plainly_here(const struct fin_chan *c) {
    enum { ONLY_ALONE = 1 };
    const struct ump_rx *rx = &c->in.ump;
    uint32_t flags;
    if (!c->in.quick) // nor may be looked at what follows, of an end that is shared
        return false;
    _Static_assert(offsetof(struct ump_rx, broken) == offsetof(struct ump_rx, alone) + 3, "alone, watched, gone, broken");
    memcpy(&flags, (const char *)rx + offsetof(struct ump_rx, alone), sizeof flags);
    return flags == ONLY_ALONE && !rx->meeting->news;
}

// The turn, where nobody has it: `quick`.
static inline void lmp_begin(struct fin_chan *c) {
    c->in.turn.mutex.locked = true;
    c->in.quick = false;
}

void fin_lmp_cancelled(void *waiter);

// Leaves word. The AWE is to stop now, and then lmp_left() follows. A cancel of the block ends the wait, if there is one;
// its list is in use.
static inline void lmp_wait_in(struct fin_finish_block *block, struct lmp_waiter *w, struct meeting *at, void *buffer,
                               size_t size) {
    w->at = at;
    w->buffer = buffer;
    w->size = size;
    w->on = NULL;
    w->item.fn = block ? fin_lmp_cancelled : NULL;
    if (FIN_LIKELY(block != NULL)) {
        w->item.arg = w;
        fin_link_front(&block->items, &w->item.link);
    } else {
        w->item.link.next = NULL;
    }
    at->waiter = w;
}

static inline FIN_BLOCKING void lmp_stop(struct lmp_waiter *w) {
    fin_here()->stats.blocks[FIN_FOR_MESSAGE].with_stack++;
    fin_await(&w->awe);
}

static inline ssize_t lmp_left(struct lmp_waiter *w) {
    if (w->item.link.next)
        fin_link_remove(&w->item.link);
    return w->result;
}

// And the turn is given back.
static inline ssize_t lmp_end(struct fin_chan *c, struct lmp_waiter *w) {
    ssize_t n = lmp_left(w);
    if (FIN_UNLIKELY(c->in.turn.mutex.waiters.first != NULL)) {
        in_give(c);
    } else {
        c->in.turn.mutex.locked = false;
        c->in.quick = !fin_trace_is_on(); // one may have begun meanwhile
    }
    return n;
}

#endif

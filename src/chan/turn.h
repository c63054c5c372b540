// SPDX-License-Identifier: BSD-2-Clause
// Of those who send at an end, or receive: one at a time goes through the slow half, or has a reservation, and holds the
// mutex. On an end that is not shared all are on one thread: the mutex is taken and given back without atomics, and what
// does not block only looks whether somebody has it. Where the end is shared what does not block holds the mutex's latch,
// and the turn that is given back is nobody's until the first who waited has come for it, or somebody else before him: if
// it were his from then on, all that run would wait for a thread to wake, message by message. (models/handover.pml)
#ifndef FIN_CHAN_TURN_H
#define FIN_CHAN_TURN_H

#include <errno.h>

#include <fin/cancel.h>
#include <fin/sync.h>

#include "chan/ump.h"
#include "core/runtime.h"

struct turn {
    bool shared;
    unsigned coming; // how many will come for it: they have been told that it is nobody's, or pay; the latch guards it
    struct fin_mutex mutex;
};

// Does somebody have it, or come for it?
static inline bool turn_in_use(const struct turn *t) { return t->mutex.locked || t->coming; }

// A call that does not block. False: somebody has the turn. Otherwise turn_leave is to follow.
static inline bool turn_enter(struct turn *t) {
    if (t->shared)
        fin_latch_acquire(&t->mutex.waiters.latch);
    if (!t->mutex.locked)
        return true;
    if (t->shared)
        fin_latch_release(&t->mutex.waiters.latch);
    return false;
}

// Others of the thread run, as is owed to them. Without the turn: those of other threads need not wait meanwhile. Nobody
// closes the end.
FIN_BLOCKING void fin_turn_pay(struct turn *t, bool *owes);
static inline FIN_BLOCKING void turn_let_others_run(struct turn *t, bool *owes) {
    if (ump_owes(owes))
        fin_turn_pay(t, owes);
}

static inline void turn_leave(struct turn *t) {
    if (t->shared)
        fin_latch_release(&t->mutex.waiters.latch);
}

// Waits for it where it has to. 0 or -ECANCELED.
FIN_BLOCKING int fin_turn_take(struct turn *t, bool nc);

static inline FIN_BLOCKING int turn_take(struct turn *t, bool nc) {
    if (FIN_UNLIKELY(t->shared || t->mutex.locked))
        return fin_turn_take(t, nc);
    if (!nc && FIN_UNLIKELY(fin_cancelled()))
        return -ECANCELED;
    t->mutex.locked = true;
    return 0;
}

void fin_turn_give(struct turn *t);

// Does nobody have the turn now, or wait for it?
static inline bool turn_give(struct turn *t) {
    if (FIN_UNLIKELY(t->shared || t->mutex.waiters.first)) {
        fin_turn_give(t);
        return false;
    }
    t->mutex.locked = false;
    return true;
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// How an AWE waits for an object of this room. All of them work the same way:
//
// A waiter is on its object's list from before it stops until somebody decides its wait: a grant (fin_waiters_take and what
// follows) or a cancel. Both decide under the object's latch by taking the waiter off the list, so exactly one does. Whoever
// decided makes the AWE run after giving the latch back, and may not look at the waiter again: it is gone by then.
#ifndef FIN_SYNC_WAIT_H
#define FIN_SYNC_WAIT_H

#include <errno.h>

#include <fin/awe.h>
#include <fin/cancel.h>
#include <fin/sync.h>

struct fin_waiter {
    struct fin_waiter *next, *prev;
    struct fin_awe *awe;     // set before the latch is given back for the first time
    struct fin_waiters *at;  // the object waited for
    struct fin_mutex *mutex; // of a condition variable's waiter, which is to have it again before it runs
    uint64_t count;          // of an event count's waiter
    int result;
    bool waiting; // on the list of `at`; guarded by its latch
    bool cancellable;
    struct fin_cancel_item item;
};

// Puts w behind `after`, NULL: first. Latch held.
void fin_waiters_insert(struct fin_waiters *q, struct fin_waiter *w, struct fin_waiter *after);

// Takes w off the list: its wait is granted. Latch held.
void fin_waiters_take(struct fin_waiters *q, struct fin_waiter *w);

// Waits. Pre: w is on the list of q, whose latch is held. Gives the latch back, then unlocks w->mutex where there is one.
// Returns 0 or -ECANCELED.
int fin_waiter_wait(struct fin_waiters *q, struct fin_waiter *w);

// The decision has been made: w is on no list, no latch is held. w's AWE runs on.
static inline void fin_waiter_run(struct fin_waiter *w) { fin_schedule(w->awe); }

// Makes w the owner of its mutex, now or when those before it have had it, and then lets it run. As above.
void fin_mutex_pass(struct fin_mutex *m, struct fin_waiter *w);

// Joins the end of the list and waits.
static inline int fin_waiter_join(struct fin_waiters *q, bool cancellable) {
    struct fin_waiter w;
    w.mutex = NULL;
    w.cancellable = cancellable;
    fin_waiters_insert(q, &w, q->last);
    return fin_waiter_wait(q, &w);
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// How an AWE waits for an object of this room, with its stack or with a continuation. All of them work the same way:
//
// A waiter is on its object's list from before it stops until somebody decides its wait: a grant (fin_waiters_take and what
// follows) or a cancel. Both decide under the object's latch by taking the waiter off the list, so exactly one does. Whoever
// decided makes the AWE run after giving the latch back, and may not look at the waiter again: it is gone by then.
// (models/wait.pml)
#ifndef FIN_SYNC_WAIT_H
#define FIN_SYNC_WAIT_H

#include <errno.h>

#include <fin/sync_on.h>

#include "core/locks.h"

enum fin_waiter_kind {
    FIN_WAITS_PLAIN,   // for a mutex, or an object of another room
    FIN_WAITS_TO_PASS, // a semaphore
    FIN_WAITS_TO_TRY, // for the turn at an end of a channel (chan/turn.c), which is free when it runs: -EAGAIN
    FIN_WAITS_FOR_COUNT,
    FIN_WAITS_IN_QUEUE,
    FIN_WAITS_WITH_MUTEX
};

struct fin_waiter {
    struct fin_waiter *next, *prev;
    struct fin_awe *awe;               // set before the latch is given back for the first time
    struct fin_waiters *at;            // the object waited for
    union {                            // as `kind` says
        uint64_t count;                // of an event count's waiter
        struct fin_queue_entry *entry; // of a queue's, which names it
        struct fin_mutex *mutex;       // of a condition variable's, which is to have it again before it runs
    };
    int result;
    bool waiting; // on the list of `at`; guarded by its latch
    bool cancellable;
    uint8_t kind;
    struct fin_cancel_item item;
};

// How the caller waits: with a continuation, or (cont is NULL) with its stack, in whose frame the waiter lies.
struct fin_how {
    struct fin_waiter *w;
    bool cancellable;
    fin_cont *cont;
    const void *state;
    size_t size;
    enum fin_reason reason; // that is counted
};

// 0, or the result where the wait cannot begin. In a cancelled block the continuation runs, and this does not return.
static inline int fin_how_begin(const struct fin_how *how) {
    if (how->cont) {
        int r = fin_cont_begin(how->cont, how->size, how->cancellable);
        return r > 0 ? fin_cont_go_on(FIN_FOR_TURN, how->cont, how->state, how->size, -ECANCELED) : r;
    }
    return how->cancellable && FIN_UNLIKELY(cancelled_here()) ? -ECANCELED : 0;
}

// There is nothing to wait for.
static inline int fin_how_pass(const struct fin_how *how) {
    return how->cont ? fin_cont_call(how->cont, how->state, how->size, 0) : 0;
}

// Puts w behind `after`, NULL: first. Latch held.
void fin_waiters_insert(struct fin_waiters *q, struct fin_waiter *w, struct fin_waiter *after);

// Takes w off the list: its wait is granted. Latch held.
void fin_waiters_take(struct fin_waiters *q, struct fin_waiter *w);

// Waits. Pre: w is on the list of q, whose latch is held. Gives the latch back, then unlocks the mutex of one that has it.
// Returns 0, -ECANCELED, or what who granted it has put into the result.
FIN_BLOCKING int fin_waiter_wait(struct fin_waiters *q, struct fin_waiter *w, enum fin_reason reason);
// The same with a continuation. Does not return. Pre: fin_how_begin.
int fin_waiter_wait_on(struct fin_waiters *q, const struct fin_how *how);

// One of the two. Its waiter has been told what it waits for: all but where, and whether it can be cancelled.
static inline FIN_BLOCKING int fin_how_wait(const struct fin_how *how, struct fin_waiters *q) {
    how->w->cancellable = how->cancellable;
    return how->cont ? fin_waiter_wait_on(q, how) : fin_waiter_wait(q, how->w, how->reason);
}

// Joins the end of the list and waits.
static inline FIN_BLOCKING int fin_how_join(const struct fin_how *how, struct fin_waiters *q, enum fin_waiter_kind kind) {
    how->w->kind = (uint8_t)kind;
    fin_waiters_insert(q, how->w, q->last);
    return fin_how_wait(how, q);
}

// The decision has been made: w is on no list, no latch is held. w's AWE runs on.
static inline void fin_waiter_run(struct fin_waiter *w) { fin_schedule_decided(w->awe); }

// Makes w the owner of its mutex, now or when those before it have had it, and then lets it run. As above.
void fin_mutex_pass(struct fin_mutex *m, struct fin_waiter *w);

// Frames of the running AWE have the mutex.
static inline void fin_mutex_held(struct fin_mutex *m) { m->hold = hold_lock(); }

_Static_assert(sizeof(struct fin_waiter) == sizeof(struct fin_sync_on), "room for a waiter");
#define FIN_HOW_STACK_FOR(reason, waiter, nc) (&(struct fin_how){waiter, !(nc), NULL, NULL, 0, reason})
#define FIN_HOW_STACK(waiter, nc) FIN_HOW_STACK_FOR(FIN_FOR_SYNC, waiter, nc)
#define FIN_HOW_ON_FOR(reason, nc) (&(struct fin_how){(struct fin_waiter *)(void *)on, !(nc), cont, state, size, reason})
#define FIN_HOW_ON(nc) FIN_HOW_ON_FOR(FIN_FOR_SYNC, nc)

// The function that waits with a continuation, and its twin. `function` takes the object's arguments and the struct fin_how.
#define FIN_SYNC_ON(name, parameters, function, ...)                                                                        \
    FIN_LEAVES_FRAME int name parameters { return cont ? function(__VA_ARGS__, FIN_HOW_ON(false)) : -EINVAL; }              \
    FIN_LEAVES_FRAME int name##_nc parameters { return cont ? function(__VA_ARGS__, FIN_HOW_ON(true)) : -EINVAL; }
// event.c, for a message
FIN_BLOCKING int fin_event_await_message(struct fin_event *e, uint64_t count, bool nc);
int fin_event_await_message_on(struct fin_event *e, uint64_t count, struct fin_sync_on *on, fin_cont *cont,
                               const void *state, size_t size);

#define FIN_ON_PARAMETERS struct fin_sync_on *on, fin_cont *cont, const void *state, size_t size

#endif

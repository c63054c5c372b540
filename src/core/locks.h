// SPDX-License-Identifier: BSD-2-Clause
// What the frames of AWEs own: an AWE that would give up its frames must own none of it. A lock has a place in a table of
// the thread that took it, from when a function that takes it returns into a frame until it is unlocked, which any thread
// may do. So has an entry of a queue that lies in a frame; of cancel items there it is known how many there may be:
// cancel.c.
#ifndef FIN_CORE_LOCKS_H
#define FIN_CORE_LOCKS_H

#include "core/dispatch.h"

// Who takes a lock when this body does: an explicit AWE's record stays when the body is over.
static inline const void *holder_of(const struct fin_body *body) {
    return body->block->flags & FIN_FINISH_CONT ? body->resume : body;
}

// A table has 16 places, in its runtime, and levels of more where those are taken. There a holder has one row of each level,
// so that whether it holds anything takes a look at few lines. Levels stay: who unlocks may be late.
struct fin_hold_level {
    struct fin_hold_level *next; // a larger one
    uint32_t rows;
    const void *row[][FIN_HOLDS_ROW] __attribute__((aligned(64)));
};

const void **fin_hold_first(void);
const void **fin_hold_more(struct fin_runtime *rt, const void *holder);

// The running AWE has taken a lock: its place in the table. Outside any body it is the thread that holds it. NULL where the
// table is full (of one AWE's it knows 48), and, unless a process that nothing can wake is reported, in a thread that has no
// AWEs yet.
static inline const void **hold_lock(void) {
    struct fin_runtime *rt = fin_rt(fin_self);
    if (FIN_UNLIKELY(!rt))
        return fin_hold_first();
    struct fin_body *body = running_body(rt, pending_of(rt->thread.current));
    const void *holder = FIN_LIKELY(body != NULL) ? holder_of(body) : rt;
    if (FIN_UNLIKELY(__atomic_load_n(&rt->holds[0], __ATOMIC_RELAXED) != NULL))
        return fin_hold_more(rt, holder);
    __atomic_store_n(&rt->holds[0], holder, __ATOMIC_RELAXED);
    return &rt->holds[0];
}

static inline void release_lock(const void **hold) {
    if (hold)
        __atomic_store_n(hold, NULL, __ATOMIC_RELAXED);
}

static inline bool may_hold_locks(const struct fin_runtime *rt) {
    return FIN_UNLIKELY(__atomic_load_n(&rt->holds[0], __ATOMIC_RELAXED) != NULL || rt->holds_most > 1);
}

bool fin_holds_more(struct fin_runtime *rt, const void *holder);

static inline bool holds_locks(struct fin_runtime *rt, const struct fin_body *body) {
    return may_hold_locks(rt) && fin_holds_more(rt, holder_of(body));
}

// What an explicit AWE that ends leaves locked is no longer its own: another has the same address soon.
void fin_holds_forget(struct fin_runtime *rt, const void *holder);
void fin_holds_end(struct fin_runtime *rt); // the same of a thread that ends: the runtime may have another one soon
// How many have been taken by this thread, or its AWEs, and are in the table.
unsigned fin_holds_count(const struct fin_runtime *rt);
// For who looks from outside.
bool fin_holds_any(const struct fin_runtime *rt, const void *holder);
bool fin_hold_is(const struct fin_runtime *rt, const void *const *place); // is it one of its table?

// Does something lie in the frames of the body that runs? Below it there are no others on its stack.
static inline bool lies_in_frames(const struct fin_runtime *rt, const struct fin_body *body, const void *p) {
    if (fin_tracking(rt))
        p = fin_track_in_stack(p);
    bool same = (((uintptr_t)p ^ (uintptr_t)body) & ~(uintptr_t)(rt->stack_size - 1)) == 0; // plain arithmetic elsewhere
    return p < (const void *)body && (same || p >= __builtin_frame_address(0));
}

// Has the body that runs ever added a cancel item that lies in its frames? And does its block still have one?
static inline bool has_had_items(const struct fin_body *body) {
    const struct fin_finish_block *b = body->block;
    return FIN_UNLIKELY(body_of(b) == body ? (uintptr_t)b->pending & FIN_PENDING_ITEMS : body->inner & FIN_BODY_ITEMS);
}
bool fin_frames_have_items(const struct fin_runtime *rt, struct fin_body *body); // cancel.c

// What lies there and others know of has a place as a lock has, which says that it is none; NULL where it does not.
#define FIN_HOLD_NO_LOCK ((uintptr_t)1)
static inline const void **hold_in_frames(const void *p) {
    struct fin_runtime *rt = fin_rt(fin_self);
    const struct fin_body *body = FIN_LIKELY(rt != NULL) ? running_body(rt, pending_of(rt->thread.current)) : NULL;
    const void **place = body && lies_in_frames(rt, body, p) ? hold_lock() : NULL;
    if (place)
        __atomic_store_n(place, (const void *)((uintptr_t)holder_of(body) | FIN_HOLD_NO_LOCK), __ATOMIC_RELAXED);
    return place;
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// Which locks the frames of AWEs hold: an AWE that would give up its frames must hold none. A lock has a place in a small
// table of the thread that took it, from when a function that takes it returns into a frame until it is unlocked, which any
// thread may do.
#ifndef FIN_CORE_LOCKS_H
#define FIN_CORE_LOCKS_H

#include "core/dispatch.h"

// Who takes a lock when this body does: an explicit AWE's record stays when the body is over.
static inline const void *holder_of(const struct fin_body *body) {
    return body->block->flags & FIN_FINISH_CONT ? body->resume : body;
}

const void **fin_hold_first(void);
const void **fin_hold_more(struct fin_runtime *rt, const void *holder);

// The running AWE has taken a lock: its place in the table. Outside any body it is the thread that holds it. NULL where the
// table is full, and, unless a process that nothing can wake is reported, in a thread that has no AWEs yet.
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

#endif

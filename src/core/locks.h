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

const void **fin_hold_more(struct fin_runtime *rt, const void *holder);

// The running AWE has taken a lock: its place in the table. NULL outside any body, where nothing can give up its stack, and
// where the table is full.
static inline const void **hold_lock(void) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_body *body = FIN_LIKELY(rt != NULL) ? running_body(rt, pending_of(rt->thread.current)) : NULL;
    if (!body)
        return NULL;
    const void *holder = holder_of(body);
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

// What an AWE that ends leaves locked is no longer its own: another has the same address soon.
void fin_holds_forget(struct fin_runtime *rt, const void *holder);

#endif

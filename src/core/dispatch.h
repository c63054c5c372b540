// SPDX-License-Identifier: BSD-2-Clause
// Blocking and resuming. The functions whose names begin with fin_core_ are entered by a jump from FIN_ARCH_BLOCK_: they run
// below the AWE that just stopped, on its stack, and end by resuming another context. What can take long or touch much
// memory (waiting for events) runs on the thread's scheduler stack instead.
//
// Invariant: whenever an AWE is resumed, no finish block of the thread has a pending async. So a search for one can stop at
// the first block marked CLEAN: all blocks around that one were begun before the running AWE was resumed, and the code that
// could start an async in them is not running. The block itself is looked at: its own owner may be.
#ifndef FIN_CORE_DISPATCH_H
#define FIN_CORE_DISPATCH_H

#include "core/runtime.h"

void fin_save_exceptions(struct fin_runtime *rt, struct fin_awe *a);
void fin_restore_extra(struct fin_runtime *rt, struct fin_awe *a);
void fin_find_work(void *rt);

// Beside the state: the AWE carries C++ exception state; it is the owner of `block`, whose note has to be put back.
enum { FIN_AWE_EXCEPTIONS = 1, FIN_AWE_OWNER = 2, FIN_AWE_EXTRA = 3 };

static inline struct fin_body *body_of(const struct fin_finish_block *b) {
    return (struct fin_body *)((uintptr_t)b->pending & ~(uintptr_t)FIN_PENDING_INNER);
}

static inline struct fin_finish_block *pending_of(struct fin_finish_block *b) {
    for (;; b = b->parent) {
        if (b->pending)
            return b;
        if (b->flags & FIN_FINISH_CLEAN)
            return NULL;
    }
}

static inline struct fin_finish_block *written_block(struct fin_finish_block *b) {
    while (b->flags & FIN_FINISH_EAGER)
        b = b->parent;
    return b;
}

// The async body that runs; NULL outside any. `pending` is what pending_of found.
static inline struct fin_body *running_body(struct fin_runtime *rt, struct fin_finish_block *pending) {
    return FIN_UNLIKELY(pending != NULL) ? body_of(pending) : rt->body;
}

static inline struct fin_finish_block *stop(struct fin_runtime *rt, struct fin_awe *a, uint32_t state) {
    struct fin_finish_block *p = pending_of(rt->thread.current);
    a->block = rt->thread.current;
    a->owner = rt;
    a->id = 0;
    a->state = state;
    a->body = running_body(rt, p);
    if (FIN_UNLIKELY(((uintptr_t)rt->exceptions[0] | (uintptr_t)rt->exceptions[1]) != 0))
        fin_save_exceptions(rt, a);
    return p;
}

static inline void go(struct fin_runtime *rt, const struct fin_context *c) {
    if (FIN_UNLIKELY(fin_tracking(rt)))
        fin_track_switch(rt, c->sp);
    fin_arch_resume(c);
}

// Pre: `a` is on no list.
static inline void resume(struct fin_runtime *rt, struct fin_awe *a) {
    uint32_t state = a->state;
    a->state = FIN_AWE_RUNNING | (state & FIN_AWE_EXTRA);
    rt->thread.current = a->block;
    rt->body = a->body;
    if (!(a->block->flags & FIN_FINISH_CLEAN))
        a->block->flags |= FIN_FINISH_CLEAN;
    if (FIN_UNLIKELY(a->id != 0))
        fin_id_resumed(rt, a);
    if (FIN_UNLIKELY(state & FIN_AWE_EXTRA))
        fin_restore_extra(rt, a);
    go(rt, &a->context);
}

static inline void dispatch(struct fin_runtime *rt) {
    struct fin_link *l = rt->queue.next;
    if (FIN_UNLIKELY(l == &rt->queue || --rt->ticks == 0)) {
        if (fin_tracking(rt))
            fin_track_switch(rt, rt->thread.scheduler);
        fin_arch_on_stack(rt->thread.scheduler, fin_find_work, rt);
        return;
    }
    fin_link_remove(l);
    resume(rt, FIN_AWE_OF(l));
}

// Takes a suspended AWE for this caller alone: another thread may try the same.
static inline bool fin_claim(struct fin_awe *a, uint32_t to) {
    uint32_t from = __atomic_load_n(&a->state, __ATOMIC_RELAXED);
    return (from & ~FIN_AWE_EXTRA) == FIN_AWE_SUSPENDED &&
           __atomic_compare_exchange_n(&a->state, &from, to | (from & FIN_AWE_EXTRA), false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

static inline bool fin_awe_waits(const struct fin_awe *a) {
    uint32_t state = __atomic_load_n(&a->state, __ATOMIC_RELAXED) & ~(uint32_t)FIN_AWE_EXTRA;
    return state == FIN_AWE_SAVED || state == FIN_AWE_QUEUED || state == FIN_AWE_SUSPENDED || state == FIN_AWE_WOKEN;
}

// Takes an AWE of this thread that waits off whatever list it is on.
static inline void take(struct fin_runtime *rt, struct fin_awe *to) {
    uint32_t state = to->state & ~(uint32_t)FIN_AWE_EXTRA;
    if (state == FIN_AWE_SAVED)
        return;
    if (state != FIN_AWE_QUEUED && !fin_claim(to, FIN_AWE_QUEUED))
        fin_drain_inbox(rt); // another thread woke it: now it is queued
    fin_link_remove(&to->link);
}

#endif

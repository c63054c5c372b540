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
void fin_restore_extra(struct fin_runtime *rt, struct fin_awe *a, uint32_t state);
void fin_find_work(void *rt);

// Beside the state: what resuming the AWE takes besides. It has C++ exceptions in flight; it is the owner of `block`, whose
// `pending` has to be put back; an id names it; a sanitizer follows it.
enum { FIN_AWE_EXCEPTIONS = 1, FIN_AWE_OWNER = 2, FIN_AWE_NAMED = 4, FIN_AWE_TRACKED = 8, FIN_AWE_EXTRA = 15 };

static inline struct fin_body *body_of(const struct fin_finish_block *b) {
    return (struct fin_body *)((uintptr_t)b->pending & ~(uintptr_t)FIN_PENDING_FLAGS);
}

static inline struct fin_finish_block *pending_of(struct fin_finish_block *from) {
    for (struct fin_finish_block *b = from;; b = b->parent) {
        if (b->pending)
            return b;
        if (b->flags & FIN_FINISH_CLEAN) {
            from->flags |= FIN_FINISH_CLEAN;
            return NULL;
        }
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

// Describes the AWE that stops. Returns the innermost block with a pending async: its owner goes on, if there is one.
static inline struct fin_finish_block *stop(struct fin_runtime *rt, struct fin_awe *a, uint32_t state) {
    struct fin_finish_block *b = rt->thread.current, *p = NULL;
    if (FIN_UNLIKELY(b->pending != NULL || !(b->flags & FIN_FINISH_CLEAN)))
        p = pending_of(b);
    a->block = b;
    a->state = state;
    a->id = 0;
    a->owner = rt;
    a->body = running_body(rt, p);
    if (FIN_UNLIKELY(((uintptr_t)rt->exceptions[0] | (uintptr_t)rt->exceptions[1]) != 0))
        fin_save_exceptions(rt, a);
    return p;
}

// The fast paths test this and the like first, and go to the slow path with a jump; then nothing in them can fail and no
// register needs saving. True: no async is pending, no C++ exception is in flight, no sanitizer follows.
static inline bool plain(const struct fin_runtime *rt) {
    const struct fin_finish_block *b = rt->thread.current;
    return FIN_LIKELY(b->pending == NULL && (b->flags & FIN_FINISH_CLEAN) != 0) &&
           FIN_LIKELY(((uintptr_t)rt->exceptions[0] | (uintptr_t)rt->exceptions[1]) == 0);
}

// stop() where plain().
static inline void stop_plain(struct fin_runtime *rt, struct fin_awe *a, uint32_t state, uint32_t id) {
    a->block = rt->thread.current;
    a->state = state;
    a->id = id;
    a->owner = rt;
    a->body = rt->body;
}

// resume() of an AWE whose state has none of FIN_AWE_EXTRA.
static inline void resume_plain(struct fin_runtime *rt, struct fin_awe *a) {
    a->state = FIN_AWE_RUNNING;
    rt->thread.current = a->block;
    rt->body = a->body;
    fin_arch_resume(&a->context);
}

// Goes on at a place that is no AWE.
static inline void go(struct fin_runtime *rt, void *ip, void *sp, void *fp, void *bx) {
    if (FIN_UNLIKELY(fin_tracking(rt)))
        fin_track_switch(rt, sp);
    fin_arch_jump(ip, sp, fp, bx);
}

// Pre: `a` is on no list.
static inline void resume(struct fin_runtime *rt, struct fin_awe *a) {
    uint32_t state = a->state;
    a->state = FIN_AWE_RUNNING;
    rt->thread.current = a->block;
    rt->body = a->body;
    if (FIN_UNLIKELY(state & FIN_AWE_EXTRA))
        fin_restore_extra(rt, a, state);
    fin_arch_resume(&a->context);
}

// With many AWEs the ones to come are in no near cache. The next one was fetched a switch ago: it tells the one after it.
static inline void prefetch(struct fin_runtime *rt) {
    const char *next = (const char *)FIN_AWE_OF(rt->queue.next->next);
    __builtin_prefetch(next);
    __builtin_prefetch(next + 64);
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
    prefetch(rt);
    resume(rt, FIN_AWE_OF(l));
}

// Takes a suspended AWE for this caller alone: another thread may try the same.
static inline bool fin_claim(struct fin_awe *a, uint32_t to) {
    uint32_t from = __atomic_load_n(&a->state, __ATOMIC_RELAXED);
    while ((from & ~(uint32_t)FIN_AWE_EXTRA) == FIN_AWE_SUSPENDED)
        if (__atomic_compare_exchange_n(&a->state, &from, to | (from & FIN_AWE_EXTRA), true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
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

// take() of one that is not suspended and has none of FIN_AWE_EXTRA but, perhaps, its name, which it loses.
static inline bool take_plain(struct fin_awe *to) {
    uint32_t state = to->state & ~(uint32_t)FIN_AWE_NAMED;
    if (state == FIN_AWE_QUEUED)
        fin_link_remove(&to->link);
    return FIN_LIKELY(state == FIN_AWE_SAVED || state == FIN_AWE_QUEUED);
}

#endif

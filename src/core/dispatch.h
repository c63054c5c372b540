// SPDX-License-Identifier: BSD-2-Clause
// Blocking and resuming. The functions whose names begin with fin_core_ are entered by a jump from FIN_ARCH_BLOCK_: they run
// below the AWE that just stopped, on its stack, and end by resuming another context. What can take long or touch much
// memory (waiting for events) runs on the thread's scheduler stack instead.
//
// Invariant: whenever an AWE is resumed, no finish block of the thread has a pending async. So a search for one can stop at
// the first block marked CLEAN: all blocks around that one were begun before the running AWE was resumed, and the code that
// could start an async in them is not running. The block itself is looked at: its own owner may be.
//
// models/awe.pml has the states of an AWE, and who may change them.
#ifndef FIN_CORE_DISPATCH_H
#define FIN_CORE_DISPATCH_H

#include "core/probe.h"
#include "core/trace.h"

// C++ keeps the exceptions being handled per OS thread, in these two words, if there are any; an AWE that blocks in a catch
// clause takes its own with it.
void **fin_exceptions(struct fin_runtime *rt);
void fin_save_exceptions(struct fin_runtime *rt, struct fin_awe *a);
void fin_resume_extra(struct fin_runtime *rt, struct fin_awe *a);
void fin_find_work(void *rt);
void fin_watch_switch(struct fin_runtime *rt, void *sp); // last before execution goes on there, not in an AWE
void fin_core_async_done(struct fin_finish_block *block, struct fin_body *body);

// In `inner` of a body that has blocked: how many cancel items there may be in its frames; with all bits, any number.
#define FIN_BODY_ITEM ((size_t)1 << (8 * sizeof(size_t) - 8))
#define FIN_BODY_ITEMS (255 * FIN_BODY_ITEM)

// Beside the kind: what resuming the AWE takes besides. It has C++ exceptions in flight; it goes on behind an async, and the
// `pending` of its block is to be saved[0] again; an id names it; a sanitizer follows it; it is explicit, and then instead
// of the second: it has a stack to begin on.
enum {
    FIN_AWE_EXCEPTIONS = 1,
    FIN_AWE_OWNER = 2,
    FIN_AWE_ATTACHED = 2,
    FIN_AWE_NAMED = 4,
    FIN_AWE_TRACKED = 8,
    FIN_AWE_EXPLICIT = 0x80,
    FIN_AWE_EXTRA = 0x8f
};

// State and id as one word.
typedef uint64_t __attribute__((may_alias)) fin_state_word;
#define FIN_STATE_WORD(a) (*(fin_state_word *)((char *)(a) + offsetof(struct fin_awe, state)))
_Static_assert(offsetof(struct fin_awe, id) == offsetof(struct fin_awe, state) + 4, "the id is the upper half");
_Static_assert(offsetof(struct fin_awe, owner) == 64, "a switch touches one line of an AWE");

// Is it the state of an AWE of this thread that waits?
static inline bool fin_state_here(const struct fin_runtime *rt, uint32_t state) {
    return (state & ~(uint32_t)(FIN_AWE_KIND | FIN_AWE_EXTRA)) == rt->tag;
}

// And so that this thread may make it run?
static inline bool fin_state_mine(const struct fin_runtime *rt, uint32_t state) {
    uint32_t kind = state & FIN_AWE_KIND;
    return fin_state_here(rt, state) && kind >= FIN_AWE_QUEUED && kind <= FIN_AWE_SAVED;
}

// Is it that of an AWE of any thread that waits?
static inline bool fin_state_waits(uint32_t state) {
    return (state & ~(uint32_t)0xffffff) == (uint32_t)FIN_AWE_WAITS &&
           (state & 0xffffff) / FIN_AWE_RUNTIME < __atomic_load_n(&fin_runtime_count, __ATOMIC_RELAXED);
}

static inline uint32_t fin_state(const struct fin_awe *a) { return __atomic_load_n(&a->state, __ATOMIC_RELAXED); }

// Is an AWE whose state says that it is on a list the AWE, and no copy of it? Of an explicit one its link does not tell.
static inline bool fin_awe_listed(const struct fin_awe *a) {
    return fin_state(a) & FIN_AWE_EXPLICIT || FIN_LIKELY(fin_link_listed(&a->link));
}

// The same of one of which fin_state_mine is so. Of one that is on no list nobody can tell.
static inline bool fin_awe_genuine(const struct fin_runtime *rt, const struct fin_awe *a) {
    bool first = rt->queue.next == &a->link; // its `prev` means nothing
    return first || (fin_state(a) & FIN_AWE_KIND) == FIN_AWE_SAVED || fin_awe_listed(a);
}

// What the program calls an AWE: is it one that this thread may make run?
static inline bool fin_awe_may_run(const struct fin_runtime *rt, const struct fin_awe *a) {
    return a && fin_state_mine(rt, fin_state(a)) && fin_awe_genuine(rt, a);
}

// Where another thread may look at it, which wants to schedule the AWE and comes too late.
static inline void fin_set_state_word(struct fin_awe *a, uint64_t word) {
    __atomic_store_n(&FIN_STATE_WORD(a), word, __ATOMIC_RELAXED);
}
static inline void fin_add_state(struct fin_awe *a, uint32_t bits) {
    __atomic_store_n(&a->state, fin_state(a) | bits, __ATOMIC_RELAXED);
}
static inline void fin_set_kind(struct fin_awe *a, uint32_t kind) {
    __atomic_store_n(&a->state, (fin_state(a) & ~(uint32_t)FIN_AWE_KIND) | kind, __ATOMIC_RELAXED);
}

static inline struct fin_body *body_of(const struct fin_finish_block *b) {
    return (struct fin_body *)((uintptr_t)b->pending & ~(uintptr_t)FIN_PENDING_FLAGS);
}

// The block that was current when b was begun. For an eager body that is its caller's, whatever block the body belongs to.
static inline struct fin_finish_block *outward(const struct fin_finish_block *b) {
    return b->flags & FIN_FINISH_EAGER ? b->away : b->parent;
}

static inline struct fin_finish_block *pending_of(struct fin_finish_block *from) {
    for (struct fin_finish_block *b = from;; b = outward(b)) {
        if (b->pending)
            return b;
        if (b->flags & FIN_FINISH_CLEAN) {
            from->flags |= FIN_FINISH_CLEAN;
            return NULL;
        }
    }
}

static inline struct fin_finish_block *written_block(struct fin_finish_block *b) {
    while (FIN_UNLIKELY(b->flags & FIN_FINISH_EAGER))
        b = b->parent;
    return b;
}

// The first block that knows: see cancel.c.
static inline bool block_cancelled(const struct fin_finish_block *b) {
    for (; b; b = b->parent)
        if (b->flags & (FIN_FINISH_CANCELLED | FIN_FINISH_NC | FIN_FINISH_LISTS))
            return b->flags & FIN_FINISH_CANCELLED;
    return false;
}

// The same of another AWE's block: while an item of a cancel runs, that may not have come to this block yet.
static inline bool block_is_being_cancelled(const struct fin_runtime *rt, const struct fin_finish_block *b) {
    if (FIN_LIKELY(rt->cancelling == 0))
        return block_cancelled(b);
    for (; b && !(b->flags & FIN_FINISH_CANCELLED); b = b->parent)
        if (b->flags & FIN_FINISH_NC)
            return false;
    return b != NULL;
}

// fin_cancelled, where each cycle counts.
static inline bool cancelled_here(void) {
    const struct fin_thread *t = fin_self;
    return FIN_LIKELY(t != NULL) && block_cancelled(t->current);
}

// The written block around the running AWE, where it is not cancelled and its list is in use; otherwise NULL.
static inline struct fin_finish_block *cancellable_here(const struct fin_runtime *rt) {
    struct fin_finish_block *b = written_block(rt->thread.current);
    return FIN_LIKELY((b->flags & (FIN_FINISH_LISTS | FIN_FINISH_CANCELLED)) == FIN_FINISH_LISTS) ? b : NULL;
}

// Pre: b is a written block, and not cancelled.
static inline struct fin_finish_block *with_list(struct fin_finish_block *b) {
    if (FIN_UNLIKELY(!(b->flags & FIN_FINISH_LISTS)))
        fin_cancel_begin(b);
    return b;
}
static inline void cancel_link(struct fin_finish_block *b, struct fin_cancel_item *item) {
    fin_link_front(&with_list(b)->items, &item->link);
}

// The async body that runs; NULL outside any. `pending` is what pending_of found.
static inline struct fin_body *running_body(struct fin_runtime *rt, struct fin_finish_block *pending) {
    return FIN_UNLIKELY(pending != NULL) ? body_of(pending) : rt->body;
}

// Before and after the library calls a function of the program's for the running AWE. Pre of the first: `left` is set, and
// `serves_alert`.
static inline void fin_called_begin(struct fin_called *c) {
    struct fin_runtime *rt = fin_here();
    c->block = rt->thread.current;
    c->body = running_body(rt, pending_of(c->block));
    rt->served += c->serves_alert;
    fin_link_front(&rt->called, &c->link);
}
static inline void fin_called_end(struct fin_called *c) {
    fin_rt(fin_self)->served -= c->serves_alert;
    fin_link_remove(&c->link);
}

// Is it one of those that the running AWE is in?
static inline bool fin_is_called_here(struct fin_runtime *rt, const struct fin_called *c) {
    struct fin_body *body = running_body(rt, pending_of(rt->thread.current));
    for (const struct fin_link *l = rt->called.next; l != &rt->called; l = l->next)
        if (l == &c->link)
            return c->body == body;
    return false;
}

// Is it in such a function of that body's?
static inline bool fin_is_called(const struct fin_runtime *rt, const struct fin_body *body) {
    for (const struct fin_link *l = rt->called.next; l != &rt->called; l = l->next)
        if (FIN_CALLED_OF(l)->body == body)
            return true;
    return false;
}

// Describes the AWE that stops. Returns the innermost block with a pending async: its owner goes on, if there is one.
static inline struct fin_finish_block *stop(struct fin_runtime *rt, struct fin_awe *a, uint32_t kind) {
    struct fin_finish_block *b = rt->thread.current, *p = NULL;
    if (FIN_UNLIKELY(b->pending != NULL || !(b->flags & FIN_FINISH_CLEAN)))
        p = b->pending ? b : pending_of(b);
    a->block = b;
    a->body = running_body(rt, p);
    if (FIN_UNLIKELY(p != NULL) && !((uintptr_t)p->pending & FIN_PENDING_NAMED))
        a->body->name = NULL; // from here on a debugger may look
    fin_set_state_word(a, rt->tag | kind);
    if (FIN_UNLIKELY(!fin_no_exceptions(rt)))
        fin_save_exceptions(rt, a);
    return p;
}

// The fast paths test this and the like first, and go to the slow path with a jump; then nothing in them can fail and no
// register needs saving. The current block, where no async is pending, no C++ exception is in flight and no sanitizer
// follows; otherwise NULL.
static inline struct fin_finish_block *plain_block(const struct fin_runtime *rt) {
    struct fin_finish_block *b = rt->thread.current;
    return fin_no_exceptions(rt) && FIN_LIKELY(!b->pending && b->flags & FIN_FINISH_CLEAN) ? b : NULL;
}

static inline bool plain(const struct fin_runtime *rt) { return plain_block(rt) != NULL; }

// stop() where plain().
static inline void stop_plain(struct fin_runtime *rt, struct fin_awe *a, uint32_t kind, uint32_t id) {
    a->block = rt->thread.current;
    a->body = rt->body;
    fin_set_state_word(a, rt->tag | kind | (uint64_t)id << 32);
}

// resume() of an AWE whose state has none of FIN_AWE_EXTRA. All but the jump:
static inline void start_plain(struct fin_runtime *rt, struct fin_awe *a) {
    fin_set_state_word(a, FIN_AWE_RUNNING); // and the result is 0
    rt->thread.current = a->block;
    rt->body = a->body;
}
static inline void resume_plain(struct fin_runtime *rt, struct fin_awe *a) {
    start_plain(rt, a);
    fin_arch_resume(&a->context);
}

// Goes on at a place that is no AWE.
static inline __attribute__((always_inline)) void go(struct fin_runtime *rt, void *ip, void *sp, void *fp, void *bx) {
    if (FIN_UNLIKELY(rt->watched))
        fin_watch_switch(rt, sp);
    fin_arch_jump(ip, sp, fp, bx);
}

// The body whose async is the current block's and pending, where fin_continue_pending takes no more than leave_to_owner;
// otherwise NULL.
static inline struct fin_body *leaves_owner(const struct fin_runtime *rt) {
    const struct fin_finish_block *b = rt->thread.current;
    struct fin_body *body = b->pending;
    if (FIN_UNLIKELY((uintptr_t)body & FIN_PENDING_FLAGS || rt->watched) ||
        FIN_UNLIKELY(!rt->thread.spares || !fin_no_exceptions(rt)))
        return NULL;
    if (b->flags & FIN_FINISH_EAGER) {
        const struct fin_finish_block *owner = b->parent;
        bool direct = owner == b->away && !(owner->flags & FIN_FINISH_EAGER) && !pending_of(b->away);
        // with nothing that keep_outer_body would keep
        return direct && (!rt->body || written_block(rt->body->block) != owner) ? body : NULL;
    }
    return FIN_LIKELY(!b->away || fin_stack_has(rt, b->away, body)) ? body : NULL;
}

// The owner runs on another stack from here on: as if the body had returned there.
static inline __attribute__((always_inline)) void *owner_on_fresh_stack(struct fin_runtime *rt, struct fin_finish_block *b,
                                                                        struct fin_body *body) {
    rt->stats.detached++;
    FIN_PROBE(blocked, body);
    if (!b->away)
        b->home_sp = body;
    b->away = fin_stack_take(rt);
    struct fin_body *fresh = (struct fin_body *)b->away - 1;
    if (FIN_UNLIKELY(rt->watched & FIN_WATCHED_VALGRIND))
        fin_track_use(fresh, sizeof *fresh);
    fresh->block = b;
    b->pending = fresh;
    return fresh;
}

static inline void eager_blocked(struct fin_runtime *rt, struct fin_finish_block *b, struct fin_body *body) {
    rt->stats.detached++;
    FIN_PROBE(blocked, body);
    b->pending = NULL;
    b->flags |= FIN_FINISH_CLEAN; // whenever the body is resumed; the caller's block may be gone by then
}

// stop() and fin_continue_pending() where leaves_owner() found a body.
static inline __attribute__((always_inline)) void stop_body(struct fin_runtime *rt, struct fin_awe *a, uint32_t kind,
                                                            struct fin_body *body) {
    a->block = rt->thread.current;
    a->body = body;
    fin_set_state_word(a, rt->tag | kind);
    body->name = NULL; // from here on a debugger may look
    body->inner = body->ended = 0;
}
static inline __attribute__((always_inline)) void leave_to_owner(struct fin_runtime *rt, struct fin_body *body) {
    struct fin_finish_block *b = rt->thread.current;
    if (b->flags & FIN_FINISH_EAGER) {
        struct fin_finish_block *owner = b->away;
        owner->count++;
        eager_blocked(rt, b, body);
        rt->thread.current = owner;
        b->home_sp = NULL;
        fin_arch_jump(b->awe.context.ip, b->awe.context.sp, b->awe.context.fp, b->awe.bx);
        return;
    }
    void *site = fin_arch_site(body);
    b->count++;
    fin_arch_jump(site, owner_on_fresh_stack(rt, b, body), b->fp, b->bx);
}

// Pre: `a` is on no list.
static inline void resume(struct fin_runtime *rt, struct fin_awe *a) {
    if (FIN_UNLIKELY(fin_state(a) & FIN_AWE_EXTRA))
        fin_resume_extra(rt, a);
    else
        resume_plain(rt, a);
}

// The first of the run queue leaves it. Its successor's link is left as it is: that AWE runs a switch later, and to store
// into it now would wait for its memory. So `prev` of the first means nothing.
static inline void unqueue_first(struct fin_runtime *rt, struct fin_link *l) {
    struct fin_link *next = l->next;
    rt->queue.next = next;
    if (next == &rt->queue)
        rt->queue.prev = next;
}

// Any AWE of the run queue leaves it.
static inline void unqueue(struct fin_runtime *rt, struct fin_link *l) {
    struct fin_link *prev = rt->queue.next == l ? &rt->queue : l->prev;
    prev->next = l->next;
    l->next->prev = prev;
}

static inline void dispatch(struct fin_runtime *rt) {
    struct fin_link *l = rt->queue.next;
    if (FIN_UNLIKELY(l == &rt->queue || --rt->ticks == 0)) {
        if (FIN_UNLIKELY(rt->watched))
            fin_watch_switch(rt, rt->thread.scheduler);
        fin_arch_on_stack(rt->thread.scheduler, fin_find_work, rt);
        return;
    }
    unqueue_first(rt, l);
    resume(rt, FIN_AWE_OF(l));
}

// Runs `to`, which is on no list, now: through the head of the queue when it is time to look for events.
static inline void run_directed(struct fin_runtime *rt, struct fin_awe *to) {
    if (FIN_LIKELY(rt->ticks > 1)) {
        rt->ticks--;
        resume(rt, to);
        return;
    }
    rt->ticks = 1;
    fin_set_kind(to, FIN_AWE_QUEUED);
    fin_link_front(&rt->queue, &to->link);
    dispatch(rt);
}

// The AWE that dispatch would run next, where that takes no more than resume_plain; otherwise NULL.
static inline struct fin_awe *next_plain(const struct fin_runtime *rt) {
    struct fin_link *l = rt->queue.next;
    if (FIN_UNLIKELY(l == &rt->queue || rt->ticks == 1) || FIN_UNLIKELY(fin_state(FIN_AWE_OF(l)) & FIN_AWE_EXTRA))
        return NULL;
    return FIN_AWE_OF(l);
}

static inline void run_plain(struct fin_runtime *rt, struct fin_awe *next) {
    rt->ticks--;
    unqueue_first(rt, &next->link);
    resume_plain(rt, next);
}

// Takes an AWE that waits in one way for this caller alone, and makes it another kind: another thread may try the same.
// *from: the state that it had, which decided.
static inline bool fin_claim_from(struct fin_awe *a, uint32_t *from, uint32_t way, uint32_t kind) {
    *from = fin_state(a);
    while ((*from & FIN_AWE_KIND) == way && fin_state_waits(*from))
        if (__atomic_compare_exchange_n(&a->state, from, (*from & ~(uint32_t)FIN_AWE_KIND) | kind, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
}

static inline bool fin_claim(struct fin_awe *a, uint32_t kind) {
    uint32_t from;
    return fin_claim_from(a, &from, FIN_AWE_SUSPENDED, kind);
}

// Takes an AWE of this thread that waits off whatever list it is on.
static inline void take(struct fin_runtime *rt, struct fin_awe *to) {
    uint32_t kind = fin_state(to) & FIN_AWE_KIND;
    if (kind == FIN_AWE_SAVED)
        return;
    if (kind != FIN_AWE_QUEUED) {
        if (fin_claim(to, FIN_AWE_QUEUED)) {
            fin_link_remove(&to->link);
            return;
        }
        fin_drain_until(rt, to); // another thread woke it: now it is queued
    }
    unqueue(rt, &to->link);
}

// The state of an AWE of this thread that is not suspended and has none of FIN_AWE_EXTRA but, perhaps, its name, which it
// loses when it is taken; without the thread. Of others it is something else.
static inline uint32_t plain_kind(const struct fin_runtime *rt, const struct fin_awe *to) {
    return (fin_state(to) ^ rt->tag) & ~(uint32_t)FIN_AWE_NAMED;
}

static inline bool can_take_plain(const struct fin_runtime *rt, const struct fin_awe *to) {
    uint32_t kind = plain_kind(rt, to);
    return FIN_LIKELY(kind == FIN_AWE_QUEUED) ? fin_awe_genuine(rt, to) : kind == FIN_AWE_SAVED;
}

// Takes one that can_take_plain() off the queue, if it is there, and puts `a` to its tail. Two AWEs that yield to one
// another take turns as the only one there.
static inline void take_plain_for(struct fin_runtime *rt, struct fin_awe *to, struct fin_awe *a) {
    if (FIN_LIKELY(rt->queue.next == &to->link && rt->queue.prev == &to->link)) {
        a->link.next = &rt->queue;
        rt->queue.next = rt->queue.prev = &a->link;
        return;
    }
    if ((fin_state(to) & FIN_AWE_KIND) == FIN_AWE_QUEUED)
        unqueue(rt, &to->link);
    fin_link_back(&rt->queue, &a->link);
}

// A switch more; false where it is time to look for events first.
static inline bool tick(struct fin_runtime *rt) {
    if (FIN_LIKELY(--rt->ticks != 0))
        return true;
    rt->ticks = 1;
    return false;
}

static inline bool fin_may_hand_over(const struct fin_runtime *rt, const struct fin_awe *to) {
    return rt->ticks > 1 && plain(rt) && fin_state(to) == (rt->tag | FIN_AWE_BUSY);
}

// As fin_suspend, and `to` runs instead of the first of the queue: it leaves the list of those suspended, and `a`, which is
// in this frame, takes its place there. Pre: fin_may_hand_over(); only this thread looks at the slots that the two are in.
static inline __attribute__((always_inline)) void fin_hand_over(struct fin_runtime *rt, struct fin_awe *a,
                                                                struct fin_awe **slot, struct fin_awe *to) {
    rt->ticks--;
    rt->stats.suspended++;
    stop_plain(rt, a, FIN_AWE_BUSY, 0);
    a->owner = rt;
    fin_link_between(&a->link, to->link.prev, to->link.next);
    *slot = a;
    start_plain(rt, to);
    FIN_ARCH_SWITCH_(a, to);
}

// Makes one of this thread that is suspended one that take_plain_for() can take, before another thread wakes it.
static inline bool claim_plain(struct fin_runtime *rt, struct fin_awe *to) {
    uint32_t from = rt->tag | FIN_AWE_SUSPENDED;
    if (!__atomic_compare_exchange_n(&to->state, &from, rt->tag | FIN_AWE_SAVED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return false;
    if (FIN_UNLIKELY(!fin_link_listed(&to->link))) {
        to->state = FIN_AWE_RUNNING; // a copy: nobody runs it
        return false;
    }
    fin_link_remove(&to->link);
    return true;
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// The ways to stop an AWE and to make one run (ac 4.3, figure 7).
#include "core/dispatch.h"

static __attribute__((noinline)) void yield_slow(struct fin_runtime *rt, struct fin_awe *a) {
    struct fin_finish_block *p = stop(rt, a, FIN_AWE_QUEUED);
    fin_link_back(&rt->queue, &a->link);
    if (p)
        fin_continue_pending(rt, p);
    else
        dispatch(rt);
}

// Where a body blocks for the first time.
static __attribute__((noinline)) void yield_to_owner(struct fin_runtime *rt, struct fin_awe *a) {
    struct fin_body *body = leaves_owner(rt);
    if (FIN_UNLIKELY(!body)) {
        yield_slow(rt, a);
        return;
    }
    stop_body(rt, a, FIN_AWE_QUEUED, body);
    fin_link_back(&rt->queue, &a->link);
    leave_to_owner(rt, body);
}

FIN_ENTRY void fin_core_yield_(struct fin_awe *a, struct fin_thread *t) {
    struct fin_runtime *rt = fin_rt(t);
    struct fin_awe *next = next_plain(rt);
    rt->stats.blocks[FIN_FOR_TURN].with_stack++;
    if (!plain(rt) || !next) {
        yield_to_owner(rt, a);
        return;
    }
    stop_plain(rt, a, FIN_AWE_QUEUED, 0);
    fin_link_back(&rt->queue, &a->link);
    run_plain(rt, next);
}

// From here on another thread may schedule the AWE; what it finds in the slot is complete (release). This thread does not
// run it before it dispatches.
static inline void expose(struct fin_runtime *rt, struct fin_awe *a, struct fin_awe **slot) {
    rt->stats.suspended++;
    a->owner = rt;
    fin_link_back(&rt->suspended, &a->link);
    __atomic_store_n(slot, a, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) void suspend_slow(struct fin_runtime *rt, struct fin_awe *a, struct fin_awe **slot,
                                                   const struct fin_then_ *then, uint32_t kind) {
    struct fin_finish_block *p = stop(rt, a, kind);
    expose(rt, a, slot);
    if (then) {
        struct fin_then_ todo = *then;
        todo.fn(todo.arg);
    }
    if (p)
        fin_continue_pending(rt, p);
    else
        dispatch(rt);
}

static __attribute__((noinline)) void suspend_then(struct fin_runtime *rt, struct fin_awe *a, struct fin_awe **slot,
                                                   const struct fin_then_ *then, uint32_t kind) {
    struct fin_then_ todo = *then;
    stop_plain(rt, a, kind, 0);
    expose(rt, a, slot);
    todo.fn(todo.arg);
    dispatch(rt);
}

static __attribute__((noinline)) void suspend_to_owner(struct fin_runtime *rt, struct fin_awe *a, struct fin_awe **slot,
                                                       const struct fin_then_ *then, uint32_t kind) {
    if (then && plain(rt)) {
        suspend_then(rt, a, slot, then, kind);
        return;
    }
    struct fin_body *body = leaves_owner(rt);
    if (FIN_UNLIKELY(!body) || then) {
        suspend_slow(rt, a, slot, then, kind);
        return;
    }
    stop_body(rt, a, kind, body);
    expose(rt, a, slot);
    leave_to_owner(rt, body);
}

static inline __attribute__((always_inline)) void suspend(struct fin_awe *a, struct fin_thread *t, struct fin_awe **slot,
                                                          void *then, uint32_t kind) {
    struct fin_runtime *rt = fin_rt(t);
    if (then || !plain(rt)) {
        suspend_to_owner(rt, a, slot, then, kind);
        return;
    }
    stop_plain(rt, a, kind, 0);
    expose(rt, a, slot);
    dispatch(rt);
}

FIN_ENTRY void fin_core_suspend_(struct fin_awe *a, struct fin_thread *t, struct fin_awe **slot, void *then) {
    suspend(a, t, slot, then, FIN_AWE_SUSPENDED);
}

FIN_ENTRY void fin_core_await_(struct fin_awe *a, struct fin_thread *t, struct fin_awe **slot, void *then) {
    suspend(a, t, slot, then, FIN_AWE_BUSY);
}

static int why_not(uint32_t state) {
    uint32_t kind = state & FIN_AWE_KIND;
    if (state == FIN_AWE_RUNNING || state == FIN_AWE_RUNNING_CONT)
        return -EALREADY;
    return fin_state_waits(state) && (kind == FIN_AWE_QUEUED || kind == FIN_AWE_WOKEN || kind == FIN_AWE_SAVED) ? -EALREADY
                                                                                                                : -EINVAL;
}

// One of another thread goes to the inbox of its owner. (models/awe.pml, sleep.pml)
static __attribute__((noinline)) int schedule_there(struct fin_awe *a, uint32_t way) {
    uint32_t state;
    if (!fin_claim_from(a, &state, way, FIN_AWE_WOKEN))
        return why_not(state); // an explicit AWE may have another by now: it waits
    if (FIN_UNLIKELY(fin_trace_is_on()))
        fin_trace_woken(fin_rt(fin_self), a);
    struct fin_runtime *rt = a->owner;
    struct fin_awe *head = __atomic_load_n(&rt->inbox, __ATOMIC_RELAXED);
    do
        a->inbox = head;
    while (!__atomic_compare_exchange_n(&rt->inbox, &head, a, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    if (__atomic_load_n(&rt->asleep, __ATOMIC_SEQ_CST))
        fin_runtime_wake(rt);
    return 0;
}

// fin_claim of one that is known to be of this thread: then its state need not be asked whether it is an AWE's.
static inline bool claim_here(const struct fin_runtime *rt, struct fin_awe *a, uint32_t from) {
    while ((from & FIN_AWE_KIND) == FIN_AWE_SUSPENDED && fin_state_here(rt, from))
        if (__atomic_compare_exchange_n(&a->state, &from, (from & ~(uint32_t)FIN_AWE_KIND) | FIN_AWE_QUEUED, true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return true;
    return false;
}

static inline void to_queue(struct fin_runtime *rt, struct fin_awe *a, bool front) {
    if (FIN_UNLIKELY(fin_traced(rt)))
        fin_trace_woken(rt, a);
    fin_link_remove(&a->link);
    (front ? fin_link_front : fin_link_back)(&rt->queue, &a->link);
}

// Runs at the tail or the head of the queue of this thread, or goes to the inbox of the owner. The program says which AWE it
// is: it may be none.
static inline __attribute__((always_inline)) int schedule(struct fin_awe *a, bool front) {
    if (FIN_UNLIKELY(!a))
        return -EINVAL;
    struct fin_runtime *rt = fin_rt(fin_self);
    uint32_t state = fin_state(a);
    if (FIN_UNLIKELY(!rt || !fin_state_here(rt, state)))
        return schedule_there(a, FIN_AWE_SUSPENDED);
    if (!claim_here(rt, a, state))
        return why_not(fin_state(a));
    if (FIN_UNLIKELY(!fin_awe_listed(a)))
        return -EINVAL;
    to_queue(rt, a, front);
    return 0;
}

int fin_schedule(struct fin_awe *a) { return schedule(a, false); }
int fin_schedule_front(struct fin_awe *a) { return schedule(a, true); }

// It waits so that nobody else can make it run: on its own thread it need not be claimed.
static inline __attribute__((always_inline)) void schedule_decided(struct fin_awe *a, bool front) {
    struct fin_runtime *rt = fin_rt(fin_self);
    uint32_t state = fin_state(a);
    if (FIN_UNLIKELY(!rt || !fin_state_here(rt, state))) {
        schedule_there(a, state & FIN_AWE_KIND);
        return;
    }
    fin_set_kind(a, FIN_AWE_QUEUED);
    to_queue(rt, a, front);
}

void fin_schedule_decided(struct fin_awe *a) { schedule_decided(a, false); }
void fin_schedule_decided_front(struct fin_awe *a) { schedule_decided(a, true); }

static __attribute__((noinline)) void yield_to_slow(struct fin_runtime *rt, struct fin_awe *a, struct fin_awe *to) {
    if (!fin_awe_may_run(rt, to)) {
        a->id = (uint32_t)fin_schedule(to);
        fin_arch_resume(&a->context);
        return;
    }
    struct fin_finish_block *p = stop(rt, a, FIN_AWE_QUEUED);
    take(rt, to);
    if (p)
        fin_queue_pending(rt, rt->thread.current);
    fin_link_back(&rt->queue, &a->link);
    run_directed(rt, to);
}

FIN_ENTRY void fin_core_yield_to_(struct fin_awe *a, struct fin_thread *t, struct fin_awe *to) {
    struct fin_runtime *rt = fin_rt(t);
    if (!plain(rt) || FIN_UNLIKELY(!to) || to->id || !(can_take_plain(rt, to) || claim_plain(rt, to)) || !tick(rt)) {
        yield_to_slow(rt, a, to);
        return;
    }
    stop_plain(rt, a, FIN_AWE_QUEUED, 0);
    take_plain_for(rt, to, a);
    resume_plain(rt, to);
}

void fin_set_name(const char *name) {
    struct fin_runtime *rt = fin_here();
    struct fin_finish_block *p = pending_of(rt->thread.current);
    struct fin_body *body = running_body(rt, p);
    if (p)
        p->pending = (void *)((uintptr_t)p->pending | FIN_PENDING_NAMED);
    if (body)
        body->name = name;
    else
        rt->name = name;
}

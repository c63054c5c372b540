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

FIN_ENTRY void fin_core_yield_(struct fin_awe *a, struct fin_thread *t) {
    struct fin_runtime *rt = fin_rt(t);
    struct fin_link *l = rt->queue.next;
    struct fin_awe *next = FIN_AWE_OF(l);
    if (!plain(rt) || FIN_UNLIKELY(l == &rt->queue || rt->ticks == 1 || (next->state & FIN_AWE_EXTRA))) {
        yield_slow(rt, a);
        return;
    }
    rt->ticks--;
    stop_plain(rt, a, FIN_AWE_QUEUED, 0);
    fin_link_back(&rt->queue, &a->link);
    fin_link_remove(l);
    prefetch(rt);
    resume_plain(rt, next);
}

FIN_ENTRY void fin_core_suspend_(struct fin_awe *a, struct fin_thread *t, struct fin_awe **slot, void *then) {
    struct fin_runtime *rt = fin_rt(t);
    struct fin_finish_block *p = stop(rt, a, FIN_AWE_SUSPENDED);
    rt->stats.suspended++;
    fin_link_back(&rt->suspended, &a->link);
    // release: another thread that finds the AWE in the slot finds it complete. It cannot run before this thread dispatches.
    __atomic_store_n(slot, a, __ATOMIC_RELEASE);
    if (then) {
        struct fin_then_ todo = *(struct fin_then_ *)then;
        todo.fn(todo.arg);
    }
    if (p)
        fin_continue_pending(rt, p);
    else
        dispatch(rt);
}

static int why_not(const struct fin_awe *a) {
    uint32_t state = __atomic_load_n(&a->state, __ATOMIC_RELAXED) & ~FIN_AWE_EXTRA;
    return state == FIN_AWE_QUEUED || state == FIN_AWE_WOKEN || state == FIN_AWE_RUNNING ? -EALREADY : -EINVAL;
}

// Runs at the tail or the head of the queue of this thread, or goes to the inbox of the owner.
static int schedule(struct fin_awe *a, bool front) {
    struct fin_runtime *rt = a->owner;
    if ((struct fin_thread *)rt == fin_self) {
        if (!fin_claim(a, FIN_AWE_QUEUED))
            return why_not(a);
        fin_link_remove(&a->link);
        (front ? fin_link_front : fin_link_back)(&rt->queue, &a->link);
        return 0;
    }
    if (!fin_claim(a, FIN_AWE_WOKEN))
        return why_not(a);
    struct fin_awe *head = __atomic_load_n(&rt->inbox, __ATOMIC_RELAXED);
    do
        a->inbox = head;
    while (!__atomic_compare_exchange_n(&rt->inbox, &head, a, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    if (__atomic_load_n(&rt->asleep, __ATOMIC_SEQ_CST))
        fin_runtime_wake(rt);
    return 0;
}

int fin_schedule(struct fin_awe *a) { return schedule(a, false); }
int fin_schedule_front(struct fin_awe *a) { return schedule(a, true); }

static void yield_to_result(struct fin_awe *a, int result) {
    a->result = result;
    fin_arch_resume(&a->context);
}

static __attribute__((noinline)) void yield_to_slow(struct fin_runtime *rt, struct fin_awe *a, struct fin_awe *to) {
    if (to->owner != rt) {
        yield_to_result(a, to->owner ? fin_schedule(to) : -EINVAL);
        return;
    }
    if (!fin_awe_waits(to)) {
        yield_to_result(a, why_not(to));
        return;
    }
    struct fin_finish_block *p = stop(rt, a, FIN_AWE_QUEUED);
    a->result = 0;
    take(rt, to);
    if (p)
        fin_queue_pending(rt, rt->thread.current);
    fin_link_back(&rt->queue, &a->link);
    resume(rt, to);
}

FIN_ENTRY void fin_core_yield_to_(struct fin_awe *a, struct fin_thread *t, struct fin_awe *to) {
    struct fin_runtime *rt = fin_rt(t);
    if (FIN_UNLIKELY(to->owner != rt) || !plain(rt) || to->id || !take_plain(to)) {
        yield_to_slow(rt, a, to);
        return;
    }
    stop_plain(rt, a, FIN_AWE_QUEUED, 0);
    a->result = 0;
    fin_link_back(&rt->queue, &a->link);
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

// SPDX-License-Identifier: BSD-2-Clause
// The slow paths of dispatch.h.
#include "core/dispatch.h"

#include <string.h>

#include "core/woken.h"

// In a sanitized program the words of the runtime are never zero, so that every AWE is marked.
void **fin_exceptions(struct fin_runtime *rt) {
    return fin_tracking(rt) ? fin_host_exception_state() : rt->thread.exceptions;
}

void fin_save_exceptions(struct fin_runtime *rt, struct fin_awe *a) {
    void **e = fin_exceptions(rt);
    if (fin_tracking(rt))
        fin_add_state(a, FIN_AWE_TRACKED);
    if (!e || !(e[0] || e[1]))
        return;
    a->saved[0] = e[0];
    a->saved[1] = e[1];
    e[0] = e[1] = NULL;
    fin_add_state(a, FIN_AWE_EXCEPTIONS);
}

// resume(), where there is more to do.
void fin_resume_extra(struct fin_runtime *rt, struct fin_awe *a) {
    uint32_t state = fin_state(a);
    if (state & FIN_AWE_EXPLICIT) {
        fin_cont_resume(rt, a);
        return;
    }
    if (state & FIN_AWE_NAMED && a->id)
        fin_id_resumed(rt, a);
    fin_set_state_word(a, FIN_AWE_RUNNING);
    rt->thread.current = a->block;
    rt->body = a->body;
    if (state & FIN_AWE_EXCEPTIONS)
        memcpy(fin_exceptions(rt), a->saved, sizeof a->saved);
    if (state & FIN_AWE_TRACKED)
        fin_track_switch(rt, a->context.sp);
    if (state & FIN_AWE_OWNER) {
        a->block->pending = a->saved[0];
        fin_arch_jump(a->context.ip, a->context.sp, a->context.fp, a->bx);
        return;
    }
    fin_arch_resume(&a->context);
}

// One that has an id by now goes the long way.
static bool is_known(const struct fin_runtime *rt, const struct fin_awe *a) {
    bool same = rt->known_cont && a->context.ip == (void *)rt->known_cont;
    return same && (fin_state(a) & FIN_AWE_EXTRA) == FIN_AWE_EXPLICIT;
}

void fin_drain_inbox(struct fin_runtime *rt) {
    if (__atomic_load_n(&rt->inbox, __ATOMIC_RELAXED) == NULL)
        return;
    // acquire: pairs with the push; what the waker did happens before the AWE runs on
    struct fin_awe *a = __atomic_exchange_n(&rt->inbox, NULL, __ATOMIC_ACQUIRE), *first = NULL;
    while (a) {
        struct fin_awe *next = a->inbox;
        a->inbox = first;
        first = a;
        a = next;
    }
    for (; first; first = a) {
        a = first->inbox;
        if (FIN_UNLIKELY(!fin_awe_listed(first)))
            continue; // a copy
        first->owner = rt; // again
        fin_link_remove(&first->link);
        rt->stats.woken_remotely++;
        FIN_PROBE(woken, first);
        if (FIN_UNLIKELY(is_known(rt, first))) {
            rt->known_fn(first);
            continue;
        }
        fin_set_kind(first, FIN_AWE_QUEUED);
        fin_link_back(&rt->queue, &first->link);
    }
}

// Who woke it has claimed it, and is few instructions away from putting it into the inbox. To run it before that would leave
// in the inbox what runs. (models/awe.pml)
void fin_drain_until(struct fin_runtime *rt, const struct fin_awe *woken) {
    for (;;) {
        fin_drain_inbox(rt);
        if ((fin_state(woken) & FIN_AWE_KIND) == FIN_AWE_QUEUED)
            return;
        fin_host_give_way();
    }
}

bool fin_take_lost(struct fin_runtime *rt, struct fin_awe *a) {
    fin_drain_inbox(rt);
    if ((fin_state(a) & FIN_AWE_KIND) != FIN_AWE_WOKEN)
        return false;
    a->owner = rt;
    return true;
}

static void sample_stacks(struct fin_runtime *rt) {
    uint64_t used = fin_stacks_used(rt);
    rt->stats.stacks_sum += used;
    rt->stats.stacks_samples++;
    if (rt->stats.stacks_most < used)
        rt->stats.stacks_most = used;
}

static void handle_alert(struct fin_runtime *rt) {
    if (FIN_UNLIKELY(__atomic_load_n(&rt->alerted, __ATOMIC_RELAXED) || __atomic_load_n(&rt->lines.on, __ATOMIC_RELAXED)))
        rt->alert(rt);
}

void fin_watch_switch(struct fin_runtime *rt, void *sp) {
    if (fin_traced(rt) && sp == rt->thread.scheduler)
        fin_trace_idle();
    else if (fin_traced(rt))
        fin_trace_goes_on(rt, sp);
    if (fin_tracking(rt))
        fin_track_switch(rt, sp);
}

void fin_look(struct fin_runtime *rt) {
    const struct fin_link *last = rt->queue.prev;
    rt->stats.switches += rt->turn - rt->ticks + (rt->ticks != 0); // the last of which the caller is about to make
    rt->ticks = rt->turn;
    sample_stacks(rt);
    if (FIN_UNLIKELY(fin_trace_is_on()) || fin_traced(rt))
        fin_trace_looks(rt);
    fin_drain_inbox(rt);
    // Where nothing can run, the caller asks at once, to sleep: requests and events are then handled in that system call.
    if (rt->poller && !fin_link_empty(&rt->queue))
        rt->poller->poll(rt->poller, false);
    fin_woken();
    if (fin_traced(rt))
        fin_trace_looked(rt, last);
}

// fin_look leaves the poller alone where the queue is empty.
void fin_look_now(struct fin_runtime *rt) {
    struct fin_link running;
    fin_link_front(&rt->queue, &running);
    fin_look(rt);
    fin_link_remove(&running);
}

bool fin_serves_alert(struct fin_runtime *rt) {
    const struct fin_body *body = running_body(rt, pending_of(rt->thread.current));
    for (const struct fin_link *l = rt->called.next; l != &rt->called; l = l->next)
        if (FIN_CALLED_OF(l)->serves_alert && FIN_CALLED_OF(l)->body == body)
            return true;
    return false;
}

// Nobody is queued, so nobody of this thread is about to give a stack back to those that found none.
static void wait_for_stack(struct fin_runtime *rt) {
    fin_host_nap();
    fin_look_now(rt);
    handle_alert(rt);
    fin_cont_feed(rt);
}

// Sleeps until there is something to do, or only looks for it.
static void sleep_or_look(struct fin_runtime *rt, bool look) {
    rt->stats.slept += !look;
    if (!look)
        FIN_PROBE(sleep, rt->tid);
    if (fin_traced(rt))
        fin_trace_looks(rt);
    if (rt->poller)
        rt->poller->poll(rt->poller, !look);
    else if (!look)
        fin_host_sleep(rt);
    if (!look)
        fin_woken();
}

// The flag goes up before the last look at the inbox and for alerts, and only we take it down: a waker that pushed before
// that look is seen by it, one that pushed after it sees the flag. (models/sleep.pml, full.pml) False: it has been woken.
static bool fall_asleep(struct fin_runtime *rt) {
    __atomic_store_n(&rt->asleep, 1, __ATOMIC_SEQ_CST);
#ifdef __aarch64__
    __atomic_thread_fence(__ATOMIC_SEQ_CST); // says the same again, for an emulator that lets the load pass the store
#endif
    return __atomic_load_n(&rt->inbox, __ATOMIC_SEQ_CST) == NULL && !__atomic_load_n(&rt->alerted, __ATOMIC_SEQ_CST);
}

static void wake_up(struct fin_runtime *rt) {
    __atomic_store_n(&rt->asleep, 0, __ATOMIC_RELAXED);
    fin_drain_inbox(rt);
    if (fin_traced(rt))
        fin_trace_looked(rt, &rt->queue);
    handle_alert(rt);
}

static void wait_for_work(struct fin_runtime *rt) {
    const bool trims = fin_stack_trim(rt); // and goes on with that, unless there is something to do by now
    if (fall_asleep(rt))
        sleep_or_look(rt, trims);
    wake_up(rt);
}

void fin_wake_outside(struct fin_runtime *rt) { __atomic_store_n(&rt->asleep, 0, __ATOMIC_RELAXED); }

// The flag stays up while the other loop runs. What is heard by the look itself has been told by then.
bool fin_sleep_outside(struct fin_runtime *rt) {
    handle_alert(rt);
    if (!fin_link_empty(&rt->queue))
        return false;
    const bool trims = fin_stack_trim(rt);
    if (fall_asleep(rt)) {
        sleep_or_look(rt, true);
        if (fin_link_empty(&rt->queue) && fin_link_empty(&rt->starved) && !trims && fall_asleep(rt)) {
            rt->expects = FIN_EXPECTS_MORE;
            return true;
        }
    }
    wake_up(rt);
    if (FIN_UNLIKELY(rt->hungry))
        fin_cont_feed(rt);
    return false;
}

// On the scheduler stack: looks at the other sources of work, sleeps while there is none, then runs the first AWE.
void fin_find_work(void *arg) {
    struct fin_runtime *rt = arg;
    fin_look(rt);
    handle_alert(rt);
    if (FIN_UNLIKELY(rt->hungry))
        fin_cont_feed(rt);
    while (fin_link_empty(&rt->queue)) {
        if (FIN_UNLIKELY(!fin_link_empty(&rt->starved)))
            wait_for_stack(rt);
        else
            wait_for_work(rt);
    }
    struct fin_awe *a = FIN_AWE_OF(rt->queue.next);
    unqueue_first(rt, &a->link);
    if (fin_traced(rt))
        fin_trace_resumes(rt, a);
    resume(rt, a);
}

// An async inside the body of another, of the same block: the outer body may end first, but its frame is kept until then. (A
// GNU C nested function finds the variables of the functions around it through the frames between.)
static void keep_outer_body(struct fin_runtime *rt, struct fin_finish_block *inner) {
    struct fin_finish_block *p = pending_of(inner->away);
    struct fin_body *outer = running_body(rt, p);
    inner->home_sp = NULL;
    if (!outer || inner->flags & FIN_FINISH_APART || written_block(outer->block) != written_block(inner))
        return;
    if (p && !((uintptr_t)p->pending & FIN_PENDING_INNER)) {
        outer->inner = outer->ended = 0;
        p->pending = (char *)p->pending + FIN_PENDING_INNER;
    }
    outer->inner++;
    inner->home_sp = outer;
}

// Counts the body of p's pending async as blocked, and says where the owner goes on. `current` becomes the owner's block.
static inline __attribute__((always_inline)) struct fin_context detach(struct fin_runtime *rt, struct fin_finish_block *p,
                                                                      void **bx) {
    struct fin_body *body = body_of(p);
    if (FIN_LIKELY(!((uintptr_t)p->pending & FIN_PENDING_INNER)))
        body->inner = body->ended = 0;
    if (FIN_UNLIKELY((uintptr_t)p->pending & FIN_PENDING_ITEMS))
        body->inner |= FIN_BODY_ITEMS;
    if (FIN_LIKELY(!((uintptr_t)p->pending & FIN_PENDING_NAMED)))
        body->name = NULL;
    written_block(p)->count++;
    if (p->flags & FIN_FINISH_EAGER) {
        eager_blocked(rt, p, body);
        rt->thread.current = p->away;
        keep_outer_body(rt, p);
        *bx = p->awe.bx;
        return p->awe.context;
    }
    if (FIN_UNLIKELY(p->away && !fin_stack_has(rt, p->away, body)))
        fin_host_die("the stack changed inside a fin_finish block: a variable-length array or alloca() between the start of "
                     "the block and a fin_async, or a jump; move it into the async body or before the block");
    void *fresh = owner_on_fresh_stack(rt, p, body);
    rt->thread.current = p;
    *bx = p->bx;
    return (struct fin_context){fin_arch_site(body), fresh, p->fp};
}

void fin_continue_pending(struct fin_runtime *rt, struct fin_finish_block *p) {
    void *bx;
    struct fin_body *body = body_of(p);
    struct fin_context c = detach(rt, p, &bx);
    if (fin_traced(rt))
        fin_trace_blocked(rt, body);
    go(rt, c.ip, c.sp, c.fp, bx);
}

// Makes AWEs of all pending owners from `from` outwards, at the head of the queue, innermost first. Theirs is the stack
// space below where they stopped: they stand still until resumed.
void fin_queue_pending(struct fin_runtime *rt, struct fin_finish_block *from) {
    struct fin_finish_block *p = pending_of(from);
    struct fin_link *after = &rt->queue;
    while (p) {
        void *bx;
        struct fin_context c = detach(rt, p, &bx);
        struct fin_awe *a = (struct fin_awe *)(((uintptr_t)c.sp - 256 - sizeof *a) & ~(uintptr_t)63);
        struct fin_finish_block *next = pending_of(outward(p));
        if (FIN_UNLIKELY(fin_on_valgrind))
            fin_track_use(a, sizeof *a);
        a->context = c;
        a->block = rt->thread.current;
        fin_set_state_word(a, rt->tag | FIN_AWE_QUEUED | FIN_AWE_OWNER | (fin_tracking(rt) ? FIN_AWE_TRACKED : 0));
        a->bx = bx;
        a->saved[0] = p->pending;
        p->pending = NULL; // until resumed
        a->body = running_body(rt, next);
        fin_link_between(&a->link, after, after->next);
        after = &a->link;
        p = next;
    }
}

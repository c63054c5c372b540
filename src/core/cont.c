// SPDX-License-Identifier: BSD-2-Clause
// Explicit continuations (continuations 2, 3, appendix A). An explicit AWE is a record of 120 bytes, from its start to its
// end. What runs between two of its blocks is a step: an async body at the base of a spare stack, in a pseudo-block like
// that of an eager body that has blocked. So a step can do whatever a body can, and its end is the end of a body.
//
// In its finish block the AWE counts once, and each step, while it runs, once more.
#include <fin/finish_on.h>

#include "core/cont.h"

// ---- records

enum { SLAB = 256 * 1024, FIRST_SLAB = 16 * 1024 };

static struct fin_cont_record *slab_first(struct fin_cont_slab *s) { return (struct fin_cont_record *)(void *)(s + 1); }
static size_t slab_count(const struct fin_cont_slab *s) { return (s->size - sizeof *s) / sizeof(struct fin_cont_record); }

// The first of a thread come with the reserve: whatever becomes of the memory, they can run one after the other.
static bool more_records(struct fin_runtime *rt) {
    size_t size = rt->cont_slabs ? SLAB : FIRST_SLAB;
    if (!rt->cont_slabs && !rt->reserve && !(rt->reserve = fin_stack_try(rt)))
        return false;
    struct fin_cont_slab *s = fin_host_map(size, 0);
    if (!s)
        return false;
    *s = (struct fin_cont_slab){.next = rt->cont_slabs, .size = size};
    rt->cont_slabs = s;
    fin_track_memory(s, size, true);
    for (struct fin_cont_record *first = slab_first(s), *e = first + slab_count(s); e-- > first;) {
        e->link.next = rt->cont_free;
        rt->cont_free = &e->link;
    }
    return true;
}

struct fin_cont_record *fin_cont_record_new(struct fin_runtime *rt) {
    if (!rt->cont_free && !more_records(rt))
        return NULL;
    struct fin_cont_record *e = RECORD_OF(rt->cont_free);
    rt->cont_free = e->link.next;
    e->item.link.next = NULL;
    fin_link_init(&e->link);
    e->cancellable = false;
    e->owner = rt;
    return e;
}

static void record_free(struct fin_runtime *rt, struct fin_cont_record *e) {
    e->state = 0;
    fin_cancel_remove(item_of(e));
    e->link.next = rt->cont_free;
    rt->cont_free = &e->link;
}

bool fin_cont_hold(struct fin_cont_record **held) {
    struct fin_runtime *rt = fin_here();
    bool has_one = running_record(here(rt)) != NULL;
    *held = has_one ? NULL : fin_cont_record_new(rt);
    return has_one || *held;
}

void fin_cont_let_go(struct fin_cont_record *held) {
    if (held)
        record_free(fin_here(), held);
}

void fin_cont_lost(struct fin_runtime *rt, void (*lost)(int fd)) {
    uint32_t queued = rt->tag | FIN_AWE_QUEUED | FIN_AWE_EXPLICIT;
    for (struct fin_cont_slab *s = rt->cont_slabs; s; s = s->next) {
        for (struct fin_cont_record *e = slab_first(s), *end = e + slab_count(s); e < end; e++)
            if ((e->state & ~(uint32_t)(FIN_AWE_NAMED | FIN_AWE_ATTACHED)) == queued && e->cancellable == DESCRIPTOR)
                lost(e->result);
    }
}

void fin_cont_pool_end(struct fin_runtime *rt) {
    for (struct fin_cont_slab *s = rt->cont_slabs, *next; s; s = next) {
        next = s->next;
        fin_track_memory(s, s->size, false);
        fin_host_unmap(s, s->size);
    }
    rt->cont_slabs = NULL;
    rt->cont_free = NULL;
}

// ---- steps

static _Noreturn void returned(void) {
    fin_host_die("a continuation returned: it has to end with fin_block_on, fin_cont_end or the like");
}

void fin_cont_step(void *record) {
    struct fin_cont_record *e = record;
    e->cont(e->data, e->result);
    returned();
}

// The AWE, which is on no list, begins on the stack.
static inline struct fin_body *enter(struct fin_runtime *rt, struct fin_awe *a, struct fin_finish_block *top) {
    if (FIN_UNLIKELY(a->id))
        fin_id_resumed(rt, a);
    fin_link_init(&a->link);
    top->pending = NULL;
    top->away = NULL;
    top->count = 0;
    top->flags = STEP;
    top->home_sp = NULL;
    struct fin_body *body = become(rt, record_of(a), top);
    body->block = top;
    body->inner = body->ended = 0;
    if (fin_tracking(rt))
        fin_track_eager_call_(top);
    return body;
}

// No memory: it waits until a stack is spare, and others run. Those that need none may be what gives one back.
static void starve(struct fin_runtime *rt, struct fin_awe *a) {
    fin_set_kind(a, FIN_AWE_QUEUED);
    fin_link_back(&rt->starved, &a->link);
    if (FIN_UNLIKELY(rt->watched))
        fin_watch_switch(rt, rt->thread.scheduler);
    fin_arch_on_stack(rt->thread.scheduler, fin_find_work, rt);
}

static struct fin_finish_block *take_reserve(struct fin_runtime *rt) {
    struct fin_finish_block *top = rt->reserve;
    rt->reserve = NULL;
    rt->hungry = true;
    return top;
}

void fin_cont_feed(struct fin_runtime *rt) {
    struct fin_finish_block *top = fin_link_empty(&rt->starved) && fin_stacks_spare(rt) == 0 ? NULL : fin_stack_try(rt);
    if (!top)
        return;
    if (fin_link_empty(&rt->starved)) {
        rt->reserve = top;
        rt->hungry = false;
        return;
    }
    fin_stack_put(rt, top);
    struct fin_link *after = &rt->queue; // to the head, in their order, as many as find a stack
    for (size_t n = rt->thread.spares; n && !fin_link_empty(&rt->starved); n--) {
        struct fin_link *first = rt->starved.next;
        fin_link_remove(first);
        fin_link_between(first, after, after->next);
        after = first;
    }
}

// What was to run first (fin_stack_attach) is the body's entry.
static void first_step(void *record) {
    struct fin_cont_record *e = record;
    const struct fin_body *body = (const struct fin_body *)fin_self->current - 1;
    ((fin_cont *)(uintptr_t)body->entry)(e->data, e->result);
    returned();
}

static __attribute__((noinline)) void resume_slowly(struct fin_runtime *rt, struct fin_awe *a) {
    struct fin_cont_record *e = record_of(a);
    bool attached = fin_state(a) & FIN_AWE_ATTACHED;
    struct fin_finish_block *top = attached ? fin_cont_attached(e) : fin_stack_try(rt);
    fin_cont *first = attached ? fin_cont_detach(e) : NULL;
    if (!top && !(top = take_reserve(rt))) {
        starve(rt, a);
        return;
    }
    struct fin_body *body = enter(rt, a, top);
    if (first)
        body->entry = (void *)(uintptr_t)first;
    fin_arch_on_stack(body, first ? first_step : fin_cont_step, e);
}

// Compilers see that the slow way does not return; ASan is asked to clear the stack before such a call, and still takes this
// one for the stack of the AWE before.
__attribute__((no_sanitize("address"))) void fin_cont_resume(struct fin_runtime *rt, struct fin_awe *a) {
    if (FIN_UNLIKELY(rt->thread.spares == 0 || fin_state(a) & FIN_AWE_ATTACHED)) {
        resume_slowly(rt, a);
        return;
    }
    struct fin_body *body = enter(rt, a, rt->thread.spare[--rt->thread.spares]);
    fin_arch_on_stack(body, fin_cont_step, record_of(a));
}

// ---- waiting

bool fin_cont_link_item(struct fin_cont_record *e) {
    if (block_cancelled(e->block))
        return false;
    e->item.fn = fin_cont_cancel;
    cancel_link(e->block, item_of(e));
    return true;
}

// Where another thread was faster, what that one said holds. Where the AWE waits with an item, in a list of two, that
// decides.
void fin_cont_cancel(void *item) {
    struct fin_cont_record *e = (struct fin_cont_record *)((char *)item - offsetof(struct fin_cont_record, item));
    uint32_t kind = fin_state(awe_of(e)) & FIN_AWE_KIND;
    if ((kind == FIN_AWE_BUSY || kind == FIN_AWE_WOKEN) && e->cancellable && e->link.next != &e->link) {
        struct fin_cancel_item *decides = (struct fin_cancel_item *)(void *)e->link.next;
        decides->fn(decides->arg);
        return;
    }
    if (e->cancellable && fin_claim(awe_of(e), FIN_AWE_QUEUED)) {
        e->result = -ECANCELED;
        fin_link_back(&fin_here()->queue, &e->link);
    }
}

static void leave_body(void *p) {
    struct fin_body *body = p;
    fin_core_async_done(body->block, body);
}

void fin_cont_leave(struct fin_runtime *rt, struct fin_body *body) {
    if (fin_tracking(rt)) {
        fin_track_drop(rt);
        fin_track_switch(rt, rt->thread.scheduler);
    }
    fin_arch_on_stack(rt->thread.scheduler, leave_body, body);
}

// The same of a step, whose AWE still counts in the block.
static void leave_step(void *p) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_finish_block *top = p;
    top->parent->count--;
    fin_stack_put(rt, top);
    dispatch(rt);
}

void fin_cont_leave_to_next(struct fin_runtime *rt, struct fin_body *body, enum fin_reason reason) {
    struct fin_link *l = rt->queue.next;
    bool is_step = body->block->flags & FIN_FINISH_CONT && body->inner == 0 && !fin_tracking(rt);
    bool can = is_step && l != &rt->queue && (FIN_AWE_OF(l)->state & FIN_AWE_EXTRA) == FIN_AWE_EXPLICIT;
    if (FIN_LIKELY(can) && tick(rt)) {
        rt->stats.blocks[reason].handed_off++;
        unqueue_first(rt, l);
        hand_stack(body, RECORD_OF(l));
        return;
    }
    rt->stats.blocks[reason].with_continuation++;
    if (is_step)
        fin_arch_on_stack(rt->thread.scheduler, leave_step, body->block);
    else
        fin_cont_leave(rt, body);
}

struct then {
    void (*fn)(struct fin_awe *, void *);
    void *arg;
};

static __attribute__((noinline)) int block_on(fin_cont *cont, const void *state, size_t size, bool cancellable,
                                              const struct then *then) {
    struct leaving l;
    int error = stop_with(&l, cont, state, size);
    if (error)
        return error;
    suspend(l.rt, l.e, cancellable);
    if (then)
        then->fn(awe_of(l.e), then->arg);
    fin_cont_leave_to_next(l.rt, l.body, FIN_FOR_PROGRAM);
    return 0;
}

// One that has waited before, and owns nothing but its stack: then no call is made that returns, and no register saved.
int fin_block_on(fin_cont *cont, const void *state, size_t size) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_cont_record *e = begin_plain(rt, cont, size);
    if (FIN_UNLIKELY(!e))
        return block_on(cont, state, size, true, NULL);
    set_plain(e, cont, state, size);
    e->cancellable = true;
    expose(rt, e);
    fin_cont_leave_to_next(rt, (struct fin_body *)rt->thread.current - 1, FIN_FOR_PROGRAM);
    return 0;
}

int fin_block_on_nc(fin_cont *cont, const void *state, size_t size) { return block_on(cont, state, size, false, NULL); }

int fin_block_on_then(fin_cont *cont, const void *state, size_t size, void (*then)(struct fin_awe *, void *), void *arg) {
    return block_on(cont, state, size, true, &(struct then){then, arg});
}

int fin_cont_suspend(enum fin_reason reason, fin_cont *cont, const void *state, size_t size, struct fin_cancel_item *item,
                     void (*then)(struct fin_awe *, void *), void *arg) {
    struct leaving l;
    int error = stop_with(&l, cont, state, size);
    if (error)
        return error;
    l.e->cancellable = false;
    if (item && make_cancellable(l.e))
        let_cancel(l.e, item);
    expose_as(l.rt, l.e, FIN_AWE_BUSY);
    then(awe_of(l.e), arg);
    fin_cont_leave_to_next(l.rt, l.body, reason);
    return 0;
}

void fin_cont_instead(struct fin_awe *a, fin_cont *cont, const void *state, size_t size) {
    set_continuation(record_of(a), cont, state, size);
}

void fin_cont_instead_of(struct fin_awe *a, struct fin_kept *k, fin_cont *cont, const void *state, size_t size) {
    const struct fin_cont_record *e = record_of(a);
    if (e->cont == k->cont)
        fin_copy_state(k->state, e->data, k->size);
    fin_cont_instead(a, cont, state, size);
}

void fin_cont_result(struct fin_awe *a, int result) {
    struct fin_cont_record *e = record_of(a);
    if (!(fin_state(a) & FIN_AWE_EXPLICIT))
        return;
    e->result = result;
    e->cancellable = false;
}

int fin_cont_go_on(enum fin_reason reason, fin_cont *cont, const void *state, size_t size, int result) {
    struct leaving l;
    int error = stop_with(&l, cont, state, size);
    if (error)
        return error;
    l.e->cancellable = false;
    queue(l.rt, l.e, result);
    fin_cont_leave_to_next(l.rt, l.body, reason);
    return 0;
}

int fin_cont_continue_(fin_cont *cont, const void *state, size_t size, int result) {
    return fin_cont_go_on(FIN_FOR_PROGRAM, cont, state, size, result);
}

static inline int call_with(fin_cont *cont, const void *state, size_t size, int result, uint32_t what, bool front) {
    struct leaving l;
    int error = stop_with(&l, cont, state, size);
    if (error)
        return error;
    if (!running_record(l.body) || l.body->inner || fin_tracking(l.rt) || !tick(l.rt)) { // now and then others have a turn
        l.e->cancellable = what;
        queue_at(l.rt, l.e, result, front);
        l.rt->precedes |= front;
        fin_cont_leave_to_next(l.rt, l.body, FIN_FOR_TURN);
    }
    next_step(l.body, l.e, cont, result);
    return 0;
}

static __attribute__((noinline)) int call_slowly(fin_cont *cont, const void *state, size_t size, int result) {
    return call_with(cont, state, size, result, false, false);
}

int fin_cont_call(fin_cont *cont, const void *state, size_t size, int result) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_cont_record *e = leaves_plain(rt, cont, size);
    return FIN_LIKELY(e && may_call_plain(rt)) ? call_plain(rt, e, cont, state, size, result)
                                               : call_slowly(cont, state, size, result);
}

int fin_cont_call_first(fin_cont *cont, const void *state, size_t size, int result) {
    return call_with(cont, state, size, result, false, true);
}

int fin_cont_call_descriptor(fin_cont *cont, const void *state, size_t size, int fd) {
    return call_with(cont, state, size, fd, fd >= 0 ? DESCRIPTOR : false, false);
}

int fin_yield_on(fin_cont *cont, const void *state, size_t size) {
    return fin_cont_go_on(FIN_FOR_TURN, cont, state, size, 0);
}

static __attribute__((noinline)) int begin_slowly(fin_cont *cont, size_t size, bool cancellable) {
    struct fin_runtime *rt = fin_here();
    struct fin_body *body = here(rt);
    int error = refusal(rt, body, cont, size);
    if (error)
        return error;
    if (!running_record(body) && !rt->cont_free && !more_records(rt))
        return -ENOMEM;
    return cancellable && block_cancelled(rt->thread.current) ? FIN_CONT_CANCELLED : 0;
}

// One that waits in a loop has been asked all of that before.
int fin_cont_begin(fin_cont *cont, size_t size, bool cancellable) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_cont_record *e = leaves_plain(rt, cont, size);
    if (FIN_UNLIKELY(!e))
        return begin_slowly(cont, size, cancellable);
    return !cancellable || e->item.link.next || fin_cont_link_item(e) ? 0 : FIN_CONT_CANCELLED;
}

void fin_cont_done(struct fin_runtime *rt, struct fin_awe *a, int result) {
    record_of(a)->cancellable = false;
    queue(rt, record_of(a), result);
}

void fin_cont_done_descriptor(struct fin_runtime *rt, struct fin_awe *a, int fd) {
    record_of(a)->cancellable = fd >= 0 ? DESCRIPTOR : false;
    queue(rt, record_of(a), fd);
}

struct fin_awe *fin_cont_start_(struct fin_finish_block *block, fin_cont *cont, const void *state, size_t size) {
    struct fin_runtime *rt = fin_here();
    struct fin_cont_record *e = cont && size <= FIN_CONT_STATE ? fin_cont_record_new(rt) : NULL;
    if (!e)
        return NULL;
    e->block = written_block(block ? block : rt->thread.current); // NULL in an ASYNC of <fin/thc.h> outside any
    e->block->count++;
    set_continuation(e, cont, state, size);
    queue(rt, e, 0);
    return awe_of(e);
}

struct fin_awe *fin_async_cont_beside(fin_cont *cont, const void *state, size_t size) {
    const struct fin_cont_record *e = running_record(here(fin_here()));
    return e ? fin_cont_start_(e->block, cont, state, size) : NULL;
}

static void end_record(struct fin_runtime *rt, struct fin_cont_record *e) {
    if (FIN_UNLIKELY(e->block->flags & FIN_FINISH_ON) && ((struct fin_finish_on *)(void *)e->block)->opener == awe_of(e))
        fin_host_die("an AWE ends that has not closed its finish block (fin_finish_open, fin_timeout_open)");
    if (may_hold_locks(rt))
        fin_holds_forget(rt, e);
    e->block->count--; // the step still counts
    record_free(rt, e);
}

void fin_cont_over(struct fin_runtime *rt, struct fin_body *body) {
    end_record(rt, body->resume);
    fin_cont_leave(rt, body);
}

// The explicit AWE that runs next, which is to have the stack of the one that has ended, where the block of that one is not
// over: its step, which counts, is not all that is left.
static inline struct fin_link *may_inherit(struct fin_runtime *rt, const struct fin_body *body) {
    const struct fin_finish_block *block = body->block->parent;
    struct fin_link *l = rt->queue.next;
    bool may = l != &rt->queue && (FIN_AWE_OF(l)->state & FIN_AWE_EXTRA) == FIN_AWE_EXPLICIT && body->inner == 0 &&
               (FIN_AWE_OF(l)->block == block || (block->count > 1 && !(block->flags & FIN_FINISH_CLOSING))) &&
               !fin_tracking(rt);
    return FIN_LIKELY(may) && tick(rt) ? l : NULL;
}

void fin_cont_end(void) {
    struct fin_runtime *rt = fin_here();
    struct fin_body *body = here(rt);
    if (!running_record(body))
        fin_host_die("fin_cont_end outside an explicit AWE");
    if (rt->thread.current != body->block)
        fin_host_die("fin_cont_end inside a finish block of its own");
    if (exception_in_flight(rt))
        fin_host_die("fin_cont_end where a C++ exception is in flight");
    end_record(rt, body->resume);
    struct fin_link *next = may_inherit(rt, body);
    if (FIN_UNLIKELY(!next))
        fin_cont_leave(rt, body);
    unqueue_first(rt, next);
    hand_stack(body, RECORD_OF(next));
    __builtin_unreachable();
}

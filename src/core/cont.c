// SPDX-License-Identifier: BSD-2-Clause
// Explicit continuations (continuations 2, 3, appendix A). An explicit AWE is a record of 128 bytes, from its start to its
// end. What runs between two of its blocks is a step: an async body at the base of a spare stack, in a pseudo-block like
// that of an eager body that has blocked. So a step can do whatever a body can, and its end is the end of a body.
//
// In its finish block the AWE counts once, and each step, while it runs, once more.
#include <fin/cont.h>

#include "core/dispatch.h"

// It is used as a struct fin_awe: what it has in that one's place is said behind each field.
struct fin_cont_record {
    fin_cont *cont; // context.ip
    struct {        // the first words of a struct fin_cancel_item: linked while it can be cancelled
        struct fin_link link; // context.sp, context.fp
        void (*fn)(void *);   // body
    } item;
    struct fin_link link; // in no list it points to itself: who resumes a suspended AWE takes it off a list
    struct fin_finish_block *block;
    uint32_t state, id;
    struct fin_runtime *owner;
    int result; // bx
    struct fin_awe *inbox;
    char data[FIN_CONT_STATE]; // saved
};

_Static_assert(sizeof(struct fin_cont_record) == 128, "what a blocked AWE costs");
_Static_assert(offsetof(struct fin_cont_record, link) == offsetof(struct fin_awe, link) &&
                   offsetof(struct fin_cont_record, block) == offsetof(struct fin_awe, block) &&
                   offsetof(struct fin_cont_record, state) == offsetof(struct fin_awe, state) &&
                   offsetof(struct fin_cont_record, id) == offsetof(struct fin_awe, id) &&
                   offsetof(struct fin_cont_record, owner) == offsetof(struct fin_awe, owner) &&
                   offsetof(struct fin_cont_record, inbox) == offsetof(struct fin_awe, inbox) &&
                   offsetof(struct fin_cont_record, data) == offsetof(struct fin_awe, saved),
               "a record is a struct fin_awe");
_Static_assert(offsetof(struct fin_cancel_item, fn) == sizeof(struct fin_link), "and has the begin of an item");

static struct fin_cont_record *record_of(const struct fin_awe *a) { return (struct fin_cont_record *)(uintptr_t)a; }
static struct fin_awe *awe_of(struct fin_cont_record *e) { return (struct fin_awe *)(void *)e; }
static struct fin_cancel_item *item_of(struct fin_cont_record *e) { return (struct fin_cancel_item *)(void *)&e->item; }

// ---- records

enum { SLAB = 256 * 1024, FIRST_SLAB = 16 * 1024 };

struct fin_cont_slab {
    struct fin_cont_slab *next;
    size_t size;
} __attribute__((aligned(sizeof(struct fin_cont_record))));

static bool more_records(struct fin_runtime *rt) {
    size_t size = rt->cont_slabs ? SLAB : FIRST_SLAB;
    struct fin_cont_slab *s = fin_host_map(size, 0);
    if (!s)
        return false;
    *s = (struct fin_cont_slab){rt->cont_slabs, size};
    rt->cont_slabs = s;
    fin_track_memory(s, size, true);
    struct fin_cont_record *e = (struct fin_cont_record *)(void *)(s + 1),
                           *end = (struct fin_cont_record *)(void *)((char *)s + size);
    while (end-- > e) {
        end->link.next = rt->cont_free;
        rt->cont_free = &end->link;
    }
    return true;
}

#define RECORD_OF(l) ((struct fin_cont_record *)((char *)(l) - offsetof(struct fin_cont_record, link)))

static struct fin_cont_record *record_new(struct fin_runtime *rt) {
    if (!rt->cont_free && !more_records(rt))
        return NULL;
    struct fin_cont_record *e = RECORD_OF(rt->cont_free);
    rt->cont_free = e->link.next;
    e->item.link.next = NULL;
    e->owner = rt;
    return e;
}

static void record_free(struct fin_runtime *rt, struct fin_cont_record *e) {
    e->state = 0;
    e->link.next = rt->cont_free;
    rt->cont_free = &e->link;
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

static void step(void *record) {
    struct fin_cont_record *e = record;
    e->cont(e->data, e->result);
    fin_host_die("a continuation returned: it has to end with fin_block_on, fin_cont_end or the like");
}

// Makes the body at the base of the stack the running step of `e`.
static struct fin_body *become(struct fin_runtime *rt, struct fin_cont_record *e, struct fin_finish_block *top) {
    struct fin_body *body = (struct fin_body *)top - 1;
    if (e->item.link.next) {
        fin_link_remove(&e->item.link);
        e->item.link.next = NULL;
    }
    e->state = FIN_AWE_RUNNING_CONT;
    e->id = 0;
    top->parent = e->block;
    e->block->count++;
    body->entry = (void *)e->cont;
    body->name = NULL;
    body->resume = e;
    rt->thread.current = top;
    rt->body = body;
    return body;
}

// The paper's stack_attach, and its resumption.
static void start_step(struct fin_runtime *rt, struct fin_cont_record *e, struct fin_finish_block *top) {
    top->pending = NULL;
    top->away = NULL;
    top->count = 0;
    top->flags = FIN_FINISH_EAGER | FIN_FINISH_CLEAN | FIN_FINISH_CONT;
    top->home_sp = NULL;
    struct fin_body *body = become(rt, e, top);
    body->block = top;
    body->inner = body->ended = 0;
    if (fin_tracking(rt))
        fin_track_eager_call_(top);
    fin_arch_on_stack(body, step, e);
}

void fin_cont_resume(struct fin_runtime *rt, struct fin_awe *a) { start_step(rt, record_of(a), fin_stack_take(rt)); }

static struct fin_cont_record *running_record(const struct fin_body *body) {
    return body && body->block->flags & FIN_FINISH_CONT ? body->resume : NULL;
}

static struct fin_body *here(struct fin_runtime *rt) { return running_body(rt, pending_of(rt->thread.current)); }

// ---- waiting

// An explicit AWE of this thread, or one that becomes it; 0 or what is wrong.
static inline __attribute__((always_inline)) int refusal(struct fin_runtime *rt, struct fin_body *body, fin_cont *cont,
                                                         size_t size) {
    void **e = fin_tracking(rt) ? fin_host_exception_state() : rt->thread.exceptions;
    if (!body || !cont)
        return -EINVAL;
    if (size > FIN_CONT_STATE)
        return -E2BIG;
    return rt->thread.current != body->block || (e && (e[0] || e[1])) ? -EBUSY : 0;
}

static inline __attribute__((always_inline)) int record_for(struct fin_runtime *rt, struct fin_body *body, fin_cont *cont,
                                                            size_t size, struct fin_cont_record **out) {
    int error = refusal(rt, body, cont, size);
    if (error)
        return error;
    struct fin_cont_record *r = running_record(body);
    if (!r) {
        r = record_new(rt);
        if (!r)
            return -ENOMEM;
        r->block = written_block(body->block);
        r->block->count++;
    }
    *out = r;
    return 0;
}

static void set_continuation(struct fin_cont_record *e, fin_cont *cont, const void *state, size_t size) {
    typedef uint64_t __attribute__((may_alias, aligned(1))) word;
    const char *from = state;
    char *to = e->data;
    e->cont = cont;
    e->result = 0;
    if (from == e->data)
        return;
    // Upwards: what lies in the record itself lies higher. A call of memmove would cost more than these few words.
    for (; size >= sizeof(word); size -= sizeof(word)) {
        *(word *)to = *(const word *)from;
        __asm__ volatile("" : : : "memory");
        to += sizeof(word);
        from += sizeof(word);
    }
    while (size--)
        *to++ = *from++;
}

static void queue(struct fin_runtime *rt, struct fin_cont_record *e, int result) {
    e->result = result;
    e->id = 0;
    e->state = rt->tag | FIN_AWE_QUEUED | FIN_AWE_EXPLICIT;
    fin_link_back(&rt->queue, &e->link);
}

// From here on any thread may schedule it.
static void suspend(struct fin_runtime *rt, struct fin_cont_record *e, bool cancellable) {
    rt->stats.compressed++;
    if (cancellable) {
        if (block_cancelled(e->block)) {
            queue(rt, e, -ECANCELED);
            return;
        }
        e->item.fn = fin_cont_cancel;
        cancel_link(e->block, item_of(e));
    }
    e->id = 0;
    fin_link_init(&e->link);
    __atomic_store_n(&e->state, rt->tag | FIN_AWE_SUSPENDED | FIN_AWE_EXPLICIT, __ATOMIC_RELEASE);
}

// Where another thread was faster, what that one said holds.
void fin_cont_cancel(void *item) {
    struct fin_cont_record *e = (struct fin_cont_record *)((char *)item - offsetof(struct fin_cont_record, item));
    if (fin_claim(awe_of(e), FIN_AWE_QUEUED)) {
        e->result = -ECANCELED;
        fin_link_back(&fin_here()->queue, &e->link);
    }
}

static void leave_body(void *p) {
    struct fin_body *body = p;
    fin_core_async_done(body->block, body);
}

// The running body is left for good, as if it had ended. Pre: its AWE, where it is to go on, has been provided for.
static void leave(struct fin_runtime *rt, struct fin_body *body) {
    if (fin_tracking(rt)) {
        fin_track_drop(rt);
        fin_track_switch(rt, rt->thread.scheduler);
    }
    fin_arch_on_stack(rt->thread.scheduler, leave_body, body);
}

// The step of a body is over, but its stack goes on: the counterpart of become().
static void relinquish(struct fin_body *body) { body->block->parent->count--; }

// leave(), where an explicit AWE is the next to run: that one gets the stack. (the paper's stack_handoff)
static void leave_to_next(struct fin_runtime *rt, struct fin_body *body) {
    struct fin_link *l = rt->queue.next;
    bool can = body->block->flags & FIN_FINISH_CONT && body->inner == 0 && !fin_tracking(rt) && l != &rt->queue &&
               (FIN_AWE_OF(l)->state & FIN_AWE_EXTRA) == FIN_AWE_EXPLICIT;
    if (FIN_LIKELY(can) && tick(rt)) {
        rt->stats.handed_off++;
        unqueue_first(rt, l);
        relinquish(body);
        start_step(rt, RECORD_OF(l), body->block);
        return;
    }
    leave(rt, body);
}

struct then {
    void (*fn)(struct fin_awe *, void *);
    void *arg;
};

// The running AWE is to go on with the continuation, and leaves its body. 0 or what is wrong.
struct leaving {
    struct fin_runtime *rt;
    struct fin_body *body;
    struct fin_cont_record *e;
};

static inline __attribute__((always_inline)) int stop_with(struct leaving *l, fin_cont *cont, const void *state,
                                                           size_t size) {
    l->rt = fin_here();
    l->body = here(l->rt);
    int error = record_for(l->rt, l->body, cont, size, &l->e);
    if (!error)
        set_continuation(l->e, cont, state, size);
    return error;
}

static int block_on(fin_cont *cont, const void *state, size_t size, bool cancellable, const struct then *then) {
    struct leaving l;
    int error = stop_with(&l, cont, state, size);
    if (error)
        return error;
    suspend(l.rt, l.e, cancellable);
    if (then)
        then->fn(awe_of(l.e), then->arg);
    leave_to_next(l.rt, l.body);
    return 0;
}

int fin_block_on(fin_cont *cont, const void *state, size_t size) { return block_on(cont, state, size, true, NULL); }
int fin_block_on_nc(fin_cont *cont, const void *state, size_t size) { return block_on(cont, state, size, false, NULL); }

int fin_block_on_then(fin_cont *cont, const void *state, size_t size, void (*then)(struct fin_awe *, void *), void *arg) {
    return block_on(cont, state, size, true, &(struct then){then, arg});
}

int fin_cont_go_on(fin_cont *cont, const void *state, size_t size, int result) {
    struct leaving l;
    int error = stop_with(&l, cont, state, size);
    if (error)
        return error;
    l.rt->stats.compressed++;
    queue(l.rt, l.e, result);
    leave_to_next(l.rt, l.body);
    return 0;
}

int fin_yield_on(fin_cont *cont, const void *state, size_t size) { return fin_cont_go_on(cont, state, size, 0); }

int fin_cont_may_wait(fin_cont *cont, size_t size) {
    struct fin_runtime *rt = fin_here();
    struct fin_body *body = here(rt);
    int error = refusal(rt, body, cont, size);
    if (error || running_record(body) || rt->cont_free || more_records(rt))
        return error;
    return -ENOMEM;
}

int fin_cont_wait(fin_cont *cont, const void *state, size_t size, void (*start)(struct fin_awe *, void *), void *arg) {
    struct leaving l;
    int error = stop_with(&l, cont, state, size);
    if (error)
        return error;
    l.rt->stats.compressed++;
    l.e->id = 0;
    l.e->state = l.rt->tag | FIN_AWE_BUSY | FIN_AWE_EXPLICIT;
    start(awe_of(l.e), arg);
    leave_to_next(l.rt, l.body);
    return 0;
}

void fin_cont_done(struct fin_runtime *rt, struct fin_awe *a, int result) { queue(rt, record_of(a), result); }

struct fin_awe *fin_cont_start_(struct fin_finish_block *block, fin_cont *cont, const void *state, size_t size) {
    struct fin_runtime *rt = fin_here();
    struct fin_cont_record *e = cont && size <= FIN_CONT_STATE ? record_new(rt) : NULL;
    if (!e)
        return NULL;
    e->block = written_block(block);
    e->block->count++;
    set_continuation(e, cont, state, size);
    queue(rt, e, 0);
    return awe_of(e);
}

void fin_cont_over(struct fin_runtime *rt, struct fin_body *body) {
    struct fin_cont_record *e = body->resume;
    e->block->count--; // the step still counts
    record_free(rt, e);
    leave(rt, body);
}

void fin_cont_end(void) {
    struct fin_runtime *rt = fin_here();
    struct fin_body *body = here(rt);
    if (!running_record(body))
        fin_host_die("fin_cont_end outside an explicit AWE");
    if (rt->thread.current != body->block)
        fin_host_die("fin_cont_end inside a finish block of its own");
    fin_cont_over(rt, body);
    __builtin_unreachable();
}

// ---- looking at continuations, and handing over

struct fin_awe *fin_awe_self(void) {
    struct fin_runtime *rt = fin_here();
    struct fin_cont_record *e = running_record(here(rt));
    return e ? awe_of(e) : NULL;
}

static bool is_explicit(const struct fin_awe *a) {
    uint32_t state = fin_state(a);
    return state == FIN_AWE_RUNNING_CONT || (fin_state_waits(state) && state & FIN_AWE_EXPLICIT);
}

fin_cont *fin_cont_of(const struct fin_awe *a) { return is_explicit(a) ? record_of(a)->cont : NULL; }
void *fin_cont_state(struct fin_awe *a) { return is_explicit(a) ? record_of(a)->data : NULL; }

int fin_thread_handoff(fin_cont *cont, const void *state, size_t size, struct fin_awe *to) {
    struct fin_runtime *rt = fin_here();
    struct fin_body *body = here(rt);
    struct fin_cont_record *e, *next = record_of(to);
    if (!fin_state_mine(rt, fin_state(to)) || !(fin_state(to) & FIN_AWE_EXPLICIT))
        return -EINVAL;
    if (body && (!running_record(body) || body->inner))
        return -EBUSY;
    int error = record_for(rt, body, cont, size, &e);
    if (error)
        return error;
    take(rt, to);
    if (to->id)
        fin_id_resumed(rt, to);
    set_continuation(e, cont, state, size);
    suspend(rt, e, true);
    rt->stats.handed_off++;
    relinquish(body);
    become(rt, next, body->block);
    return 0;
}

int fin_thread_handoff_if(fin_cont *known, fin_cont *cont, const void *state, size_t size, struct fin_awe *to) {
    if (record_of(to)->cont != known) // a stackful AWE's instruction pointer is no continuation
        return -ESRCH;
    int error = fin_thread_handoff(cont, state, size, to);
    if (error == 0)
        fin_here()->stats.recognized++;
    return error;
}

int fin_call_continuation(fin_cont *cont, int result) {
    struct fin_runtime *rt = fin_here();
    struct fin_body *body = here(rt);
    struct fin_cont_record *e = running_record(body);
    if (!e || !cont)
        return -EINVAL;
    if (rt->thread.current != body->block || body->inner)
        return -EBUSY;
    e->cont = cont;
    e->result = result;
    if (fin_tracking(rt)) { // which wants to see a stack begin anew
        fin_link_front(&rt->queue, &e->link);
        e->state = rt->tag | FIN_AWE_QUEUED | FIN_AWE_EXPLICIT;
        leave(rt, body);
        return 0;
    }
    body->entry = (void *)cont;
    fin_arch_on_stack(body, step, e);
    return 0;
}

// Makes `to` the next to run.
static void run_next(struct fin_runtime *rt, struct fin_awe *to) {
    to->state = (to->state & ~(uint32_t)FIN_AWE_KIND) | FIN_AWE_QUEUED;
    fin_link_front(&rt->queue, &to->link);
}

int fin_cont_next_(struct fin_awe *to) {
    struct fin_runtime *rt = fin_here();
    if (!fin_state_mine(rt, fin_state(to)))
        return -EINVAL;
    take(rt, to);
    run_next(rt, to);
    return 0;
}

int fin_cont_switch_(fin_cont *cont, const void *state, size_t size, struct fin_awe *to) {
    struct leaving l;
    if (!fin_state_mine(fin_here(), fin_state(to)))
        return -EINVAL;
    int error = stop_with(&l, cont, state, size);
    if (error)
        return error;
    take(l.rt, to);
    suspend(l.rt, l.e, true);
    run_next(l.rt, to);
    leave_to_next(l.rt, l.body);
    return 0;
}

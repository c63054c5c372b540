// SPDX-License-Identifier: BSD-2-Clause
// Explicit AWEs: what cont.c, handoff.c and attach.c share.
#ifndef FIN_CORE_CONT_H
#define FIN_CORE_CONT_H

#include <fin/cont.h>

#include "core/kept.h"
#include "core/locks.h"

// It is used as a struct fin_awe: what it has in that one's place is said behind each field.
struct fin_cont_record {
    fin_cont *cont; // context.ip
    // The first words of a struct fin_cancel_item, which is linked from the first cancellable wait to the end, or a cancel.
    struct {
        struct fin_link link; // context.sp, context.fp
        void (*fn)(void *);   // body
    } item;
    // On no list, and while the AWE runs, it points to itself: who resumes a suspended AWE takes it off a list.
    struct fin_link link;
    struct fin_finish_block *block;
    uint32_t state, id;
    struct fin_runtime *owner; // or inbox
    int result;                // bx
    uint32_t cancellable;      // does a cancel end the wait? Or, which none ends any more, one of those below
    char data[FIN_CONT_STATE]; // saved
};

_Static_assert(sizeof(struct fin_cont_record) == 120, "what a blocked AWE costs");
_Static_assert(offsetof(struct fin_cont_record, link) == offsetof(struct fin_awe, link) &&
                   offsetof(struct fin_cont_record, block) == offsetof(struct fin_awe, block) &&
                   offsetof(struct fin_cont_record, state) == offsetof(struct fin_awe, state) &&
                   offsetof(struct fin_cont_record, id) == offsetof(struct fin_awe, id) &&
                   offsetof(struct fin_cont_record, owner) == offsetof(struct fin_awe, owner) &&
                   offsetof(struct fin_cont_record, data) == offsetof(struct fin_awe, saved),
               "a record is a struct fin_awe");
_Static_assert(offsetof(struct fin_cancel_item, fn) == sizeof(struct fin_link), "and has the begin of an item");

static inline struct fin_cont_record *record_of(const struct fin_awe *a) { return (struct fin_cont_record *)(uintptr_t)a; }
static inline struct fin_awe *awe_of(struct fin_cont_record *e) { return (struct fin_awe *)(void *)e; }
static inline struct fin_cancel_item *item_of(struct fin_cont_record *e) {
    return (struct fin_cancel_item *)(void *)&e->item;
}

// DESCRIPTOR: the wait is over, and its result is a descriptor. AT_END: it waits at the end of a block without a stack; for
// who looks from outside.
enum { DESCRIPTOR = 2, AT_END = 3 };

// Records lie in these, behind the head, which is as large as one.
struct fin_cont_slab {
    struct fin_cont_slab *next;
    size_t size;
    char unused[sizeof(struct fin_cont_record) - 2 * sizeof(void *)];
};

#define RECORD_OF(l) ((struct fin_cont_record *)((char *)(l) - offsetof(struct fin_cont_record, link)))

// handoff.c: what the program waits with, where the AWE waits with that or with one of ours; and its state
fin_cont *fin_cont_of_program(const struct fin_cont_record *e, const void **state);

// attach.c: of one with FIN_AWE_ATTACHED, its stack; and what that holds goes back to the record, and the rest is what is
// to run first, or NULL
struct fin_finish_block *fin_cont_attached(const struct fin_cont_record *e);
fin_cont *fin_cont_detach(struct fin_cont_record *e);
struct fin_kept *fin_cont_kept(const struct fin_cont_record *e);
// Is it one of this thread that waits with a continuation of the program's, and not in the midst of a wait of the library's?
bool fin_cont_is_programs(const struct fin_runtime *rt, const struct fin_awe *a);

// cont.c
struct fin_cont_record *fin_cont_record_new(struct fin_runtime *rt); // NULL: no memory
bool fin_cont_link_item(struct fin_cont_record *e);                  // false where its block has been cancelled
// What an AWE does with its stack before it goes on with a continuation must not be lost for want of a record: that is kept
// from others meanwhile. *held is NULL where it has one. False: no memory.
bool fin_cont_hold(struct fin_cont_record **held);
void fin_cont_let_go(struct fin_cont_record *held); // others have run, and none will before it takes it
void fin_cont_step(void *record);                                    // on the base of a stack; does not return
// The running body is left for good, as if it had ended. Pre: its AWE, where it is to go on, has been provided for.
void fin_cont_leave(struct fin_runtime *rt, struct fin_body *body);
// The same; where an explicit AWE is the next to run that one gets the stack. (the paper's stack_handoff)
// It is counted as a block for that reason.
void fin_cont_leave_to_next(struct fin_runtime *rt, struct fin_body *body, enum fin_reason reason);

static inline struct fin_cont_record *running_record(const struct fin_body *body) {
    return body && body->block->flags & FIN_FINISH_CONT ? body->resume : NULL;
}

static inline struct fin_body *here(struct fin_runtime *rt) { return running_body(rt, pending_of(rt->thread.current)); }

// Makes the body at the base of the stack the running step of `e`.
static inline struct fin_body *become(struct fin_runtime *rt, struct fin_cont_record *e, struct fin_finish_block *top) {
    struct fin_body *body = (struct fin_body *)top - 1;
    fin_set_state_word(awe_of(e), FIN_AWE_RUNNING_CONT);
    top->parent = e->block;
    e->block->count++;
    body->entry = (void *)e->cont;
    body->name = NULL;
    body->resume = e;
    rt->thread.current = top;
    rt->body = body;
    return body;
}

// The step at the base of a stack is over, and one of `e` begins there. Pre: e is in the state RUNNING_CONT.
static inline void take_over(struct fin_cont_record *e, struct fin_finish_block *top) {
    struct fin_body *body = (struct fin_body *)top - 1;
    if (FIN_UNLIKELY(e->block != top->parent)) {
        top->parent->count--;
        e->block->count++;
        top->parent = e->block;
    }
    body->entry = (void *)e->cont;
    body->name = NULL;
    body->resume = e;
}

enum { STEP = FIN_FINISH_EAGER | FIN_FINISH_CLEAN | FIN_FINISH_CONT };

// The fast paths begin with this: the explicit AWE that runs, where nothing keeps it from giving up its stack at once. It
// then is the step at the base of the stack, which ends at `current`.
static inline struct fin_cont_record *running_plain(const struct fin_runtime *rt) {
    const struct fin_finish_block *top = rt->thread.current;
    const struct fin_body *body = (const struct fin_body *)top - 1;
    bool is = FIN_LIKELY(top->flags == STEP && top->pending == NULL && body->inner == 0) && fin_no_exceptions(rt) &&
              !may_hold_locks(rt);
    if (!is)
        return NULL;
    if (!body->resume) // a step is somebody's, which the compiler does not know
        __builtin_unreachable();
    return body->resume;
}

// In the frames of the AWE that runs: caught and not yet dealt with, or still on its way.
static inline __attribute__((always_inline)) bool exception_in_flight(struct fin_runtime *rt) {
    void **e = fin_tracking(rt) ? fin_host_exception_state() : rt->thread.exceptions;
    return e && !fin_no_exceptions_(e);
}

// An explicit AWE of this thread, or one that becomes it; 0 or what is wrong.
static inline __attribute__((always_inline)) int refusal(struct fin_runtime *rt, struct fin_body *body, fin_cont *cont,
                                                         size_t size) {
    if (!body || !cont)
        return -EINVAL;
    if (size > FIN_CONT_STATE)
        return -E2BIG;
    if (rt->thread.current != body->block || exception_in_flight(rt) || holds_locks(rt, body))
        return -EBUSY;
    if (!running_record(body) && fin_is_called(rt, body)) // who calls for an explicit AWE opens a block
        return -EBUSY;
    return has_had_items(body) && fin_frames_have_items(rt, body) ? -EBUSY : 0;
}

static inline __attribute__((always_inline)) int record_for(struct fin_runtime *rt, struct fin_body *body, fin_cont *cont,
                                                            size_t size, struct fin_cont_record **out) {
    int error = refusal(rt, body, cont, size);
    if (error)
        return error;
    struct fin_cont_record *r = running_record(body);
    if (!r) {
        r = fin_cont_record_new(rt);
        if (!r)
            return -ENOMEM;
        r->block = written_block(body->block);
        r->block->count++;
    }
    *out = r;
    return 0;
}

// Pre: may_set_plain().
static inline void set_plain(struct fin_cont_record *e, fin_cont *cont, const void *state, size_t size) {
    e->cont = cont;
    e->result = 0;
    fin_copy_words(e->data, state, size);
}

static inline bool may_set_plain(fin_cont *cont, size_t size) {
    return FIN_LIKELY(cont && size <= FIN_CONT_STATE && size % sizeof(uint64_t) == 0);
}

// The one that runs, where it could go on with such a continuation at once; or NULL.
static inline struct fin_cont_record *leaves_plain(const struct fin_runtime *rt, fin_cont *cont, size_t size) {
    return FIN_LIKELY(rt != NULL) && may_set_plain(cont, size) ? running_plain(rt) : NULL;
}

// The same where it could wait, too, and nothing has cancelled it: fin_cont_begin, the quick half.
static inline struct fin_cont_record *begin_plain(const struct fin_runtime *rt, fin_cont *cont, size_t size) {
    struct fin_cont_record *e = leaves_plain(rt, cont, size);
    return e && FIN_LIKELY(e->item.link.next != NULL) ? e : NULL;
}

// May its next step begin on its stack? Not where others are to have a turn first. Pre: running_plain().
static inline bool may_call_plain(const struct fin_runtime *rt) { return FIN_LIKELY(!fin_tracking(rt) && rt->ticks > 1); }

// The step that runs is over, and the next one of the same AWE begins at the base of its stack. Pre: its state is set.
static inline __attribute__((always_inline)) void next_step(struct fin_body *body, struct fin_cont_record *e, fin_cont *cont,
                                                            int result) {
    e->cont = cont;
    e->result = result;
    body->entry = (void *)cont;
    body->name = NULL;
    fin_arch_on_stack(body, fin_cont_step, e);
}

static inline int call_plain(struct fin_runtime *rt, struct fin_cont_record *e, fin_cont *cont, const void *state,
                             size_t size, int result) {
    rt->ticks--;
    set_plain(e, cont, state, size);
    next_step((struct fin_body *)rt->thread.current - 1, e, cont, result);
    return 0;
}

static inline void set_continuation(struct fin_cont_record *e, fin_cont *cont, const void *state, size_t size) {
    e->cont = cont;
    e->result = 0;
    fin_copy_state(e->data, state, size);
}

static inline void queue_at(struct fin_runtime *rt, struct fin_cont_record *e, int result, bool front) {
    e->result = result;
    fin_set_state_word(awe_of(e), rt->tag | FIN_AWE_QUEUED | FIN_AWE_EXPLICIT);
    (front ? fin_link_front : fin_link_back)(&rt->queue, &e->link);
}
static inline void queue(struct fin_runtime *rt, struct fin_cont_record *e, int result) { queue_at(rt, e, result, false); }

// From here on any thread may schedule it: where it is SUSPENDED, anybody.
static inline void expose_as(struct fin_runtime *rt, struct fin_cont_record *e, uint32_t kind) {
    __atomic_store_n(&FIN_STATE_WORD(awe_of(e)), rt->tag | kind | FIN_AWE_EXPLICIT, __ATOMIC_RELEASE);
}
static inline void expose(struct fin_runtime *rt, struct fin_cont_record *e) { expose_as(rt, e, FIN_AWE_SUSPENDED); }

// Of the AWE that runs: false where its block has been cancelled. While the item is linked it has not.
static inline bool make_cancellable(struct fin_cont_record *e) {
    e->cancellable = true;
    return FIN_LIKELY(e->item.link.next != NULL) || fin_cont_link_item(e);
}

static inline void suspend(struct fin_runtime *rt, struct fin_cont_record *e, bool cancellable) {
    e->cancellable = false;
    if (cancellable && FIN_UNLIKELY(!make_cancellable(e)))
        queue(rt, e, -ECANCELED);
    else
        expose(rt, e);
}

// It waits, and the item runs where its block is cancelled. Pre: its own is linked. Whoever takes the AWE off its list
// leaves the item alone: what that one stores into the item's link nobody reads.
static inline void let_cancel(struct fin_cont_record *e, struct fin_cancel_item *item) {
    e->link.next = e->link.prev = &item->link;
    e->cancellable = true;
}

// The step at the base of the stack is over, and that of `e`, which is on no list, begins there.
static inline __attribute__((always_inline)) void hand_stack(struct fin_body *body, struct fin_cont_record *e) {
    fin_link_init(&e->link);
    fin_set_state_word(awe_of(e), FIN_AWE_RUNNING_CONT);
    take_over(e, body->block);
    fin_arch_on_stack(body, fin_cont_step, e);
}

// The running AWE is to go on with the continuation, and leaves its body. 0 or what is wrong.
struct leaving {
    struct fin_runtime *rt;
    struct fin_body *body;
    struct fin_cont_record *e;
};

static inline __attribute__((always_inline)) int stop_with(struct leaving *l, fin_cont *cont, const void *state,
                                                           size_t size) {
    l->rt = fin_rt(fin_self);
    l->e = leaves_plain(l->rt, cont, size);
    if (FIN_LIKELY(l->e != NULL)) {
        l->body = (struct fin_body *)l->rt->thread.current - 1;
        set_plain(l->e, cont, state, size);
        return 0;
    }
    l->rt = fin_here();
    l->body = here(l->rt);
    int error = record_for(l->rt, l->body, cont, size, &l->e);
    if (!error)
        set_continuation(l->e, cont, state, size);
    return error;
}

#endif

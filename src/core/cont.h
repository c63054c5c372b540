// SPDX-License-Identifier: BSD-2-Clause
// Explicit AWEs: what cont.c and handoff.c share.
#ifndef FIN_CORE_CONT_H
#define FIN_CORE_CONT_H

#include <fin/cont.h>

#include "core/locks.h"

// It is used as a struct fin_awe: what it has in that one's place is said behind each field.
struct fin_cont_record {
    fin_cont *cont;           // context.ip
    struct {                  // the first words of a struct fin_cancel_item: linked while it can be cancelled
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

static inline struct fin_cont_record *record_of(const struct fin_awe *a) { return (struct fin_cont_record *)(uintptr_t)a; }
static inline struct fin_awe *awe_of(struct fin_cont_record *e) { return (struct fin_awe *)(void *)e; }
static inline struct fin_cancel_item *item_of(struct fin_cont_record *e) {
    return (struct fin_cancel_item *)(void *)&e->item;
}

#define RECORD_OF(l) ((struct fin_cont_record *)((char *)(l) - offsetof(struct fin_cont_record, link)))

// cont.c
struct fin_cont_record *fin_cont_record_new(struct fin_runtime *rt); // NULL: no memory
void fin_cont_step(void *record);                                    // on the base of a stack; does not return
// The running body is left for good, as if it had ended. Pre: its AWE, where it is to go on, has been provided for.
void fin_cont_leave(struct fin_runtime *rt, struct fin_body *body);
// The same; where an explicit AWE is the next to run that one gets the stack. (the paper's stack_handoff)
void fin_cont_leave_to_next(struct fin_runtime *rt, struct fin_body *body);

static inline struct fin_cont_record *running_record(const struct fin_body *body) {
    return body && body->block->flags & FIN_FINISH_CONT ? body->resume : NULL;
}

static inline struct fin_body *here(struct fin_runtime *rt) { return running_body(rt, pending_of(rt->thread.current)); }

// Makes the body at the base of the stack the running step of `e`.
static inline struct fin_body *become(struct fin_runtime *rt, struct fin_cont_record *e, struct fin_finish_block *top) {
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

// The step of a body is over, but its stack goes on: the counterpart of become().
static inline void relinquish(struct fin_body *body) { body->block->parent->count--; }

// An explicit AWE of this thread, or one that becomes it; 0 or what is wrong.
static inline __attribute__((always_inline)) int refusal(struct fin_runtime *rt, struct fin_body *body, fin_cont *cont,
                                                         size_t size) {
    void **e = fin_tracking(rt) ? fin_host_exception_state() : rt->thread.exceptions;
    if (!body || !cont)
        return -EINVAL;
    if (size > FIN_CONT_STATE)
        return -E2BIG;
    return rt->thread.current != body->block || (e && (e[0] || e[1])) || holds_locks(rt, body) ? -EBUSY : 0;
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

static inline void set_continuation(struct fin_cont_record *e, fin_cont *cont, const void *state, size_t size) {
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

static inline void queue(struct fin_runtime *rt, struct fin_cont_record *e, int result) {
    e->result = result;
    e->id = 0;
    e->state = rt->tag | FIN_AWE_QUEUED | FIN_AWE_EXPLICIT;
    fin_link_back(&rt->queue, &e->link);
}

// From here on any thread may schedule it.
static inline void expose(struct fin_runtime *rt, struct fin_cont_record *e) {
    e->id = 0;
    __atomic_store_n(&e->state, rt->tag | FIN_AWE_SUSPENDED | FIN_AWE_EXPLICIT, __ATOMIC_RELEASE);
}

static inline void make_cancellable(struct fin_cont_record *e) {
    e->item.fn = fin_cont_cancel;
    cancel_link(e->block, item_of(e));
}

static inline void suspend(struct fin_runtime *rt, struct fin_cont_record *e, bool cancellable) {
    rt->stats.compressed++;
    if (cancellable) {
        if (block_cancelled(e->block)) {
            queue(rt, e, -ECANCELED);
            return;
        }
        make_cancellable(e);
    }
    fin_link_init(&e->link);
    expose(rt, e);
}

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

#endif

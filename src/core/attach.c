// SPDX-License-Identifier: BSD-2-Clause
// Stacks that a program holds, and explicit AWEs that have one to begin on (continuations, figure 4).
//
// Such an AWE waits with a continuation of ours. What it waits with lies on the stack, below the struct fin_body of the step
// that is to begin there, which overwrites it.
#include "core/cont.h"

enum { HELD = 0x48454c44 }; // the flags of the block at the top of a stack that a program holds. No block in use has them

struct attached {
    struct fin_kept kept; // first: the address of this is the state of our continuation
    fin_cont *first;
    struct fin_finish_block *top;
};

// Known by its address only: fin_cont_resume takes the stack first.
static FIN_INNER void has_stack(void *state, int result) {
    (void)state;
    (void)result;
}

static struct attached *attached_of(const struct fin_cont_record *e) {
    struct attached *on;
    memcpy(&on, e->data, sizeof on);
    return on;
}

struct fin_finish_block *fin_cont_attached(const struct fin_cont_record *e) { return attached_of(e)->top; }
struct fin_kept *fin_cont_kept(const struct fin_cont_record *e) { return &attached_of(e)->kept; }

fin_cont *fin_cont_detach(struct fin_cont_record *e) {
    const struct attached *on = attached_of(e);
    fin_cont *first = on->first;
    e->cont = on->kept.cont;
    fin_copy_state(e->data, on->kept.state, on->kept.size);
    __atomic_fetch_and(&e->state, ~(uint32_t)FIN_AWE_ATTACHED, __ATOMIC_RELAXED); // another thread may be waking it
    return first;
}

bool fin_cont_is_programs(const struct fin_runtime *rt, const struct fin_awe *a) {
    if (!a)
        return false;
    uint32_t state = fin_state(a);
    const void *cont = (const void *)(uintptr_t)record_of(a)->cont;
    return fin_state_mine(rt, state) && state & FIN_AWE_EXPLICIT && (state & FIN_AWE_ATTACHED || !fin_is_inner(cont));
}

struct fin_stack *fin_stack_alloc(void) {
    struct fin_finish_block *top = fin_stack_try(fin_here());
    if (top)
        top->flags = HELD;
    return (struct fin_stack *)(void *)top;
}

static struct fin_finish_block *held(const struct fin_runtime *rt, struct fin_stack *s) {
    return s && fin_stack_is(rt, s) && s->block.flags == HELD ? &s->block : NULL;
}

int fin_stack_free(struct fin_stack *s) {
    struct fin_runtime *rt = fin_here();
    struct fin_finish_block *top = held(rt, s);
    if (!top)
        return -EINVAL;
    top->flags = 0;
    fin_stack_put(rt, top);
    return 0;
}

// One that waits for a stack needs none any more: its turn had come.
static void feed(struct fin_runtime *rt, struct fin_awe *a) {
    for (struct fin_link *l = rt->starved.next; l != &rt->starved; l = l->next)
        if (l == &a->link) {
            fin_link_remove(l);
            fin_link_front(&rt->queue, l);
            return;
        }
}

int fin_stack_attach(struct fin_awe *a, struct fin_stack *s, fin_cont *first) {
    struct fin_runtime *rt = fin_here();
    struct fin_finish_block *top = held(rt, s);
    struct fin_cont_record *e = record_of(a);
    if (!top || !fin_cont_is_programs(rt, a))
        return -EINVAL;
    if (fin_state(a) & FIN_AWE_ATTACHED)
        return -EBUSY;
    struct attached *on = (struct attached *)(void *)((struct fin_body *)top - 1) - 1;
    if (FIN_UNLIKELY(fin_on_valgrind))
        fin_track_use(on, sizeof *on);
    fin_keep(&on->kept, e->cont, e->data, FIN_CONT_STATE);
    on->first = first;
    on->top = top;
    top->flags = 0;
    e->cont = has_stack;
    memcpy(e->data, &on, sizeof on);
    __atomic_fetch_or(&e->state, FIN_AWE_ATTACHED, __ATOMIC_RELAXED); // as above
    feed(rt, a);
    return 0;
}

struct fin_stack *fin_stack_detach(struct fin_awe *a) {
    struct fin_runtime *rt = fin_here();
    struct fin_cont_record *e = record_of(a);
    if (!fin_cont_is_programs(rt, a) || !(fin_state(a) & FIN_AWE_ATTACHED))
        return NULL;
    struct fin_finish_block *top = fin_cont_attached(e);
    fin_cont_detach(e);
    top->flags = HELD;
    return (struct fin_stack *)(void *)top;
}

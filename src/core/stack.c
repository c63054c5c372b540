// SPDX-License-Identifier: BSD-2-Clause
// Stacks: carved from slabs of address space, committed when touched, each with a guard page at its low end. A stack is
// named by the struct fin_finish_block at its top. Tops are coloured: they lie at different offsets in their pages, because
// stacks are used in the same pattern and would otherwise fight for the same cache sets.
#include "core/probe.h"
#include "core/runtime.h"

enum {
    STACKS_PER_SLAB = 256,
    COLOURS = 24, // times a cache line: what the colour takes of the first page
    HOT = 64,     // spare stacks that keep their memory while the thread sleeps
    OFTEN = 100,  // milliseconds
    PORTION = 64, // a fraction of a millisecond
};

static size_t wanted; // by the program

int fin_set_stack_size(size_t bytes) {
    if (bytes > FIN_MOST_STACK_SIZE)
        return -EINVAL;
    __atomic_store_n(&wanted, bytes, __ATOMIC_RELAXED);
    return 0;
}

// What is enough for a program may be too little for what a sanitizer makes of it.
void fin_stack_begin(struct fin_runtime *rt) {
    const size_t asked = __atomic_load_n(&wanted, __ATOMIC_RELAXED), usual = fin_host_stack_size(0);
    rt->stack_size = fin_host_stack_size(fin_tracking(rt) && asked < usual ? 0 : asked);
}

static struct fin_stack *stack_at(const struct fin_runtime *rt, uintptr_t base) {
    size_t colour = (base >> __builtin_ctzl(rt->stack_size)) % COLOURS * 64;
    return (struct fin_stack *)(base + rt->stack_size - colour) - 1;
}

struct fin_finish_block *fin_stack_top(struct fin_runtime *rt, void *sp) {
    return &stack_at(rt, ((uintptr_t)sp - 1) & ~(uintptr_t)(rt->stack_size - 1))->block;
}

static bool spare_room(struct fin_runtime *rt, size_t stacks) {
    if (stacks <= rt->spare_capacity)
        return true;
    size_t capacity = rt->spare_capacity ? rt->spare_capacity : STACKS_PER_SLAB;
    while (capacity < stacks)
        capacity *= 2;
    struct fin_finish_block **spare = fin_host_map(2 * capacity * sizeof *spare, 0), **cold = spare + capacity;
    if (!spare)
        return false;
    for (size_t i = 0; i < rt->thread.spares; i++)
        spare[i] = rt->thread.spare[i];
    for (size_t i = 0; i < rt->colds; i++)
        cold[i] = rt->cold[i];
    if (rt->thread.spare)
        fin_host_unmap(rt->thread.spare, 2 * rt->spare_capacity * sizeof *spare);
    rt->thread.spare = spare;
    rt->cold = cold;
    rt->spare_capacity = capacity;
    return true;
}

static struct fin_slab *slab_new(struct fin_runtime *rt, size_t stacks) {
    if (!spare_room(rt, rt->stats.stacks + stacks))
        return NULL;
    char *base = fin_host_map(stacks * rt->stack_size, rt->stack_size);
    struct fin_slab *s = base ? fin_host_map(sizeof *s, 0) : NULL;
    if (!s) {
        if (base)
            fin_host_unmap(base, stacks * rt->stack_size);
        return NULL;
    }
    *s = (struct fin_slab){.next = rt->slabs, .base = base, .stacks = stacks};
    rt->slabs = s;
    return s;
}

// Adds a slab's worth of spare stacks, or what there is memory for: at least one, or false.
static __attribute__((noinline)) bool more_stacks(struct fin_runtime *rt) {
    struct fin_thread *t = &rt->thread;
    struct fin_slab *s = NULL;
    size_t page = fin_host_page_size();
    FIN_PROBE(more_stacks, t);
    for (size_t n = rt->slabs ? STACKS_PER_SLAB : STACKS_PER_SLAB / 16; !s && n > 0; n /= 16)
        s = slab_new(rt, n);
    if (!s)
        return false;
    for (size_t i = s->stacks; i-- > 0;) {
        uintptr_t base = (uintptr_t)s->base + i * rt->stack_size;
        if (fin_host_guard((void *)base, page) != 0)
            rt->stats.unguarded++;
        struct fin_stack *stack = stack_at(rt, base);
        if (fin_tracking(rt) || fin_on_valgrind)
            fin_track_stack(stack, (void *)(base + page), rt->stack_size - page, page);
        t->spare[t->spares++] = &stack->block;
    }
    rt->stats.stacks += s->stacks;
    return true;
}

struct fin_finish_block *fin_stack_try(struct fin_runtime *rt) {
    struct fin_thread *t = &rt->thread;
    if (t->spares == 0 && rt->colds) {
        rt->warmed = true;
        return rt->cold[--rt->colds];
    }
    return FIN_LIKELY(t->spares != 0) || more_stacks(rt) ? t->spare[--t->spares] : NULL;
}

// Ends the program where there is no memory: an async has no way to say so.
struct fin_finish_block *fin_stack_more_(struct fin_thread *t) {
    struct fin_finish_block *top = fin_stack_try(fin_rt(t));
    if (!top)
        fin_host_die("no memory for another stack: let fewer AWEs wait at a time, or with smaller stacks or continuations");
    return top;
}

// Gives the memory of a portion of the spare stacks back, not of the hottest. True: there is more to give. Called when the
// thread has nothing to run. They are kept apart, so one that is taken again is known to have memory, however many were in
// use between two calls. To touch new memory costs more than what mostly runs on a stack: who takes them again at once keeps
// them until OFTEN is over.
bool fin_stack_trim(struct fin_runtime *rt) {
    size_t spares = rt->thread.spares;
    if (spares <= HOT)
        return false;
    uint64_t now = fin_host_ms();
    if (rt->warmed && now - rt->trimmed < OFTEN)
        return false;
    size_t page = fin_host_page_size();
    size_t keep = fin_tracking(rt) ? page : 0; // what describes a stack to sanitizers lies at its top
    size_t count = spares - HOT < PORTION ? spares - HOT : PORTION, left = spares - count;
    struct fin_finish_block **spare = rt->thread.spare;
    rt->warmed = false;
    rt->trimmed = now;
    for (size_t i = left - HOT; i < spares - HOT; i++) {
        uintptr_t base = ((uintptr_t)spare[i]) & ~(uintptr_t)(rt->stack_size - 1);
        fin_host_release((void *)(base + page), rt->stack_size - page - keep);
        rt->cold[rt->colds++] = spare[i];
    }
    for (size_t i = left - HOT; i < left; i++)
        spare[i] = spare[i + count];
    rt->thread.spares = left;
    rt->stats.stacks_released += count;
    return left > HOT;
}

bool fin_stack_is(const struct fin_runtime *rt, const struct fin_stack *s) {
    for (const struct fin_slab *slab = rt->slabs; slab; slab = slab->next)
        if ((uintptr_t)s - (uintptr_t)slab->base < slab->stacks * rt->stack_size)
            return s == stack_at(rt, (uintptr_t)s & ~(uintptr_t)(rt->stack_size - 1));
    return false;
}

void fin_stack_each(struct fin_runtime *rt, void (*fn)(struct fin_runtime *rt, struct fin_stack *s)) {
    for (struct fin_slab *s = rt->slabs; s; s = s->next)
        for (size_t i = 0; i < s->stacks; i++)
            fn(rt, stack_at(rt, (uintptr_t)s->base + i * rt->stack_size));
}

void fin_stack_end(struct fin_runtime *rt) {
    if (fin_tracking(rt))
        fin_stack_each(rt, fin_track_stack_end);
    for (struct fin_slab *s = rt->slabs, *next; s; s = next) {
        next = s->next;
        // but for what this thread stands on: musl's pthread_exit does not go back to the stack that the thread came with
        if ((uintptr_t)__builtin_frame_address(0) - (uintptr_t)s->base >= s->stacks * rt->stack_size)
            fin_host_unmap(s->base, s->stacks * rt->stack_size);
        fin_host_unmap(s, sizeof *s);
    }
    if (rt->thread.spare)
        fin_host_unmap(rt->thread.spare, 2 * rt->spare_capacity * sizeof *rt->thread.spare);
    rt->slabs = NULL;
    rt->reserve = NULL;
    rt->thread.spare = NULL;
    rt->cold = NULL;
    rt->thread.spares = rt->spare_capacity = rt->colds = 0;
    rt->warmed = false;
    rt->stats.stacks = 0;
}

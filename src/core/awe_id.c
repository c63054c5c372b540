// SPDX-License-Identifier: BSD-2-Clause
// Ids of AWEs (ac-extensions 5.1, 5.2). An id is a place in the thread's table and the generation of that place. A place
// that is given back is used again only after REST others, so that a stale id keeps failing for a long time.
#include <fin/awe_id.h>

#include "core/dispatch.h"

enum { INDEX_BITS = 20, REST = 1024, FIRST_CAPACITY = 256 };
#define INDEX(id) ((id) & ((1u << INDEX_BITS) - 1))

// The place that an id may have: the table's size is a power of two. A free slot has an id with index 0 and the first one an
// id of another, so one comparison tells all that is not in use.
static inline struct fin_id_slot *slot_of(const struct fin_runtime *rt, uint32_t id) { return &rt->ids[id & rt->id_mask]; }

static inline struct fin_id_slot *live(const struct fin_runtime *rt, uint32_t id) {
    struct fin_id_slot *s = slot_of(rt, id);
    return FIN_LIKELY(s->id == id) ? s : NULL;
}

// The table of who has no ids. Never written: each slot has an id that leads to the other.
static struct fin_id_slot none[2] = {{.id = 1}, {.id = 0}};

void fin_id_begin(struct fin_runtime *rt) {
    rt->ids = none;
    rt->id_mask = 1;
    rt->id_count = 1;
    rt->id_frees = 0;
}

static uint32_t capacity_of(const struct fin_runtime *rt) { return rt->ids == none ? 0 : rt->id_mask + 1; }

static void unmap(struct fin_runtime *rt) {
    if (rt->ids != none)
        fin_host_unmap(rt->ids, capacity_of(rt) * sizeof *rt->ids);
}

static bool grow(struct fin_runtime *rt) {
    uint32_t capacity = rt->ids == none ? FIRST_CAPACITY : capacity_of(rt) * 2;
    struct fin_id_slot *ids = fin_host_map(capacity * sizeof *ids, 0);
    if (!ids)
        return false;
    for (uint32_t i = 0; i < rt->id_count; i++)
        ids[i] = rt->ids[i];
    unmap(rt);
    rt->ids = ids;
    rt->id_mask = capacity - 1;
    return true;
}

static bool fresh(struct fin_runtime *rt, uint32_t *index) {
    if (rt->id_count >> INDEX_BITS)
        return false;
    if (rt->id_count >= capacity_of(rt) && !grow(rt))
        return false;
    *index = rt->id_count++;
    rt->ids[*index] = (struct fin_id_slot){.id = 0};
    return true;
}

int fin_awe_id_create(uint32_t *id) {
    struct fin_runtime *rt = fin_here();
    uint32_t i;
    if (rt->id_frees <= REST && fresh(rt, &i)) {
        // fresh
    } else if (rt->id_frees) {
        i = rt->id_free;
        rt->id_free = rt->ids[i].next;
        rt->id_frees--;
    } else {
        return rt->id_count >> INDEX_BITS ? -ENOSPC : -ENOMEM;
    }
    struct fin_id_slot *s = &rt->ids[i];
    s->id += 1u << INDEX_BITS | i; // the next generation
    s->awe = NULL;
    *id = s->id;
    return 0;
}

// An AWE keeps its id when that comes to name another, or is removed. Of the place's own AWE it is always the place's id.
static inline void save(struct fin_id_slot *s, struct fin_awe *a) {
    s->awe = a;
    if (a) {
        a->id = s->id;
        __atomic_fetch_or(&a->state, FIN_AWE_NAMED, __ATOMIC_RELAXED); // another thread may be waking it
    }
}

int fin_awe_id_remove(uint32_t id) {
    struct fin_runtime *rt = fin_here();
    struct fin_id_slot *s = live(rt, id);
    if (!s)
        return -ESRCH;
    save(s, NULL);
    uint32_t i = INDEX(id);
    s->id -= i;
    s->next = 0;
    if (rt->id_frees++)
        rt->ids[rt->id_last_free].next = i;
    else
        rt->id_free = i;
    rt->id_last_free = i;
    return 0;
}

void fin_id_resumed(struct fin_runtime *rt, struct fin_awe *a) {
    struct fin_id_slot *s = &rt->ids[INDEX(a->id)];
    if (s->awe == a)
        s->awe = NULL;
}

int fin_awe_id_set(uint32_t id, struct fin_awe *a) {
    struct fin_runtime *rt = fin_here();
    struct fin_id_slot *s = live(rt, id);
    if (!s)
        return -ESRCH;
    if (a && !fin_awe_may_run(rt, a))
        return -EINVAL;
    if (a && a->id)
        fin_id_resumed(rt, a);
    save(s, a);
    return 0;
}

struct fin_awe *fin_awe_id_get(uint32_t id) {
    struct fin_id_slot *s = live(fin_here(), id);
    return s ? s->awe : NULL;
}

enum { DIRECTED = 1, SAVES = 2, QUEUES = 4 };

// All yields by id: constant flags, so that each entry point is compiled for its own case.
static inline __attribute__((always_inline)) void yield_slow(struct fin_awe *a, struct fin_thread *t, int how, uint32_t to,
                                                             uint32_t from) {
    struct fin_runtime *rt = fin_rt(t);
    struct fin_id_slot *target = how & DIRECTED ? live(rt, to) : NULL, *self = how & SAVES ? live(rt, from) : NULL;
    if ((how & DIRECTED && (!target || !target->awe)) || (how & SAVES && !self)) {
        a->id = (uint32_t)-ESRCH;
        fin_arch_resume(&a->context);
        return;
    }
    struct fin_awe *next = how & DIRECTED ? target->awe : NULL;
    struct fin_finish_block *p = stop(rt, a, how & QUEUES ? FIN_AWE_QUEUED : FIN_AWE_SAVED);
    if (how & DIRECTED) {
        take(rt, next);
        target->awe = NULL;
        fin_set_state_word(next, fin_state(next) & ~(uint32_t)FIN_AWE_NAMED);
    }
    if (how & SAVES) {
        self->awe = a;
        fin_set_state_word(a, fin_state(a) | FIN_AWE_NAMED | (uint64_t)from << 32);
    }
    if (p && how & DIRECTED)
        fin_queue_pending(rt, rt->thread.current);
    if (how & QUEUES)
        fin_link_back(&rt->queue, &a->link);
    if (how & DIRECTED)
        run_directed(rt, next);
    else if (p)
        fin_continue_pending(rt, p);
    else
        dispatch(rt);
}

#define YIELD(name, how)                                                                                                    \
    static __attribute__((noinline)) void name(struct fin_awe *a, struct fin_thread *t, uintptr_t to, uintptr_t from) {     \
        yield_slow(a, t, how, (uint32_t)to, (uint32_t)from);                                                                \
    }
YIELD(yield_save, SAVES | QUEUES)
YIELD(yield_to, DIRECTED | QUEUES)
YIELD(yield_to_save, DIRECTED | SAVES | QUEUES)
YIELD(switch_save, SAVES)
YIELD(switch_to_save, DIRECTED | SAVES)
YIELD(switch_to, DIRECTED)

typedef void slow_yield(struct fin_awe *a, struct fin_thread *t, uintptr_t to, uintptr_t from);

// What bounds a switch is its number of loads and stores. So each thing is loaded once. That the AWE has the id says that
// the id names it; its state, that it waits in this thread, and so the thread's tag, which its place in the table says too.
// From there on the id is kept only in that word, for want of registers: one more would be saved for the way that does not
// return.
static inline __attribute__((always_inline)) void directed(struct fin_awe *a, struct fin_thread *t, int how, uintptr_t to,
                                                           uintptr_t from, slow_yield *slow) {
    struct fin_runtime *rt = fin_rt(t);
    struct fin_id_slot *target = slot_of(rt, (uint32_t)to), *self = slot_of(rt, (uint32_t)from);
    struct fin_awe *next = target->awe;
    __asm__("" : "+r"(self)); // now: what it takes is two registers
    if (FIN_UNLIKELY(!next))
        return slow(a, t, to, from);
    uint64_t word = __atomic_load_n(&FIN_STATE_WORD(next), __ATOMIC_RELAXED); // another thread may be waking it
    if (FIN_UNLIKELY(word >> 32 != to))
        return slow(a, t, to, from);
    __asm__("" : "+r"(word)); // so that `to` is not kept beside it
    // who does not queue itself is mostly continued by those who do not either
    if (FIN_UNLIKELY((uint8_t)word != (FIN_AWE_NAMED | FIN_AWE_SAVED)) &&
        FIN_UNLIKELY(!(how & QUEUES) || (uint8_t)word != (FIN_AWE_NAMED | FIN_AWE_QUEUED)))
        return slow(a, t, word >> 32, from);
    struct fin_finish_block *block = plain_block(rt);
    if (FIN_UNLIKELY(!block))
        return slow(a, t, word >> 32, from);
    if (how & SAVES && FIN_UNLIKELY(self->id != (uint32_t)from))
        return slow(a, t, word >> 32, from);
    if (FIN_UNLIKELY(!tick(rt)))
        return slow(a, t, word >> 32, from);
    target->awe = NULL;
    if (how & SAVES)
        self->awe = a;
    a->block = block;
    a->body = rt->body;
    uint32_t state = how & QUEUES ? ((uint32_t)word & ~(uint32_t)FIN_AWE_KIND) | FIN_AWE_QUEUED : (uint32_t)word;
    fin_set_state_word(a, how & SAVES ? state | (uint64_t)from << 32 : state ^ FIN_AWE_NAMED);
    if (how & QUEUES)
        take_plain_for(rt, next, a);
    resume_plain(rt, next);
}

FIN_ENTRY void fin_core_yield_save_(struct fin_awe *a, struct fin_thread *t, uintptr_t from) { yield_save(a, t, 0, from); }

FIN_ENTRY void fin_core_yield_to_id_(struct fin_awe *a, struct fin_thread *t, uintptr_t to) {
    directed(a, t, DIRECTED | QUEUES, to, 0, yield_to);
}

FIN_ENTRY void fin_core_yield_to_save_(struct fin_awe *a, struct fin_thread *t, uintptr_t to, uintptr_t from) {
    directed(a, t, DIRECTED | SAVES | QUEUES, to, from, yield_to_save);
}

FIN_ENTRY void fin_core_switch_save_(struct fin_awe *a, struct fin_thread *t, uintptr_t from) {
    struct fin_runtime *rt = fin_rt(t);
    struct fin_id_slot *self = slot_of(rt, (uint32_t)from);
    struct fin_awe *next = next_plain(rt);
    if (FIN_UNLIKELY(!next || !plain(rt)) || FIN_UNLIKELY(self->id != (uint32_t)from)) {
        switch_save(a, t, 0, from);
        return;
    }
    self->awe = a;
    stop_plain(rt, a, FIN_AWE_SAVED | FIN_AWE_NAMED, (uint32_t)from);
    run_plain(rt, next);
}

FIN_ENTRY void fin_core_switch_to_save_(struct fin_awe *a, struct fin_thread *t, uintptr_t to, uintptr_t from) {
    directed(a, t, DIRECTED | SAVES, to, from, switch_to_save);
}

FIN_ENTRY void fin_core_switch_to_(struct fin_awe *a, struct fin_thread *t, uintptr_t to, struct fin_awe **slot) {
    struct fin_id_slot *target = live(fin_rt(t), (uint32_t)to);
    if (slot && target && target->awe)
        *slot = a;
    directed(a, t, DIRECTED, to, 0, switch_to);
}

void fin_id_end(struct fin_runtime *rt) {
    unmap(rt);
    fin_id_begin(rt); // the next thread's may be this runtime
}

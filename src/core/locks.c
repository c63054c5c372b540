// SPDX-License-Identifier: BSD-2-Clause
#include "core/locks.h"

#include "core/host.h"

static const void *get(const struct fin_runtime *rt, uint32_t i) { return __atomic_load_n(&rt->holds[i], __ATOMIC_RELAXED); }

// The thread then has AWEs from here on.
const void **fin_hold_first(void) {
    if (!fin_host_stuck_wanted())
        return NULL;
    fin_here();
    return hold_lock();
}

enum { FIRST_ROWS = 63, LEVELS = 4, TIMES = 4, PATIENCE = 256 };

static struct fin_hold_level *first_level(const struct fin_runtime *rt) {
    return __atomic_load_n(&rt->hold_levels, __ATOMIC_ACQUIRE);
}
static struct fin_hold_level *level_after(const struct fin_hold_level *l) {
    return __atomic_load_n(&l->next, __ATOMIC_ACQUIRE);
}

static const void **row_of(struct fin_hold_level *l, const void *holder) {
    uint32_t hash = (uint32_t)((uintptr_t)holder * 0x9e3779b97f4a7c15 >> 32);
    return l->row[(uint64_t)hash * l->rows >> 32];
}

// Whose it is, whatever it is.
static const void *holder_at(const void *const *place) {
    return (const void *)((uintptr_t)__atomic_load_n(place, __ATOMIC_RELAXED) & ~FIN_HOLD_NO_LOCK);
}

// The first place of a row that has this, or NULL.
static const void **find(const void **row, size_t places, const void *holder) {
    for (const void **p = row; p < row + places; p++)
        if (holder_at(p) == holder)
            return p;
    return NULL;
}

static struct fin_hold_level *add_level(struct fin_runtime *rt) {
    struct fin_hold_level **end = &rt->hold_levels;
    uint32_t rows = FIRST_ROWS;
    for (int i = 0; *end; i++, end = &(*end)->next) {
        rows = (*end)->rows * TIMES;
        if (i == LEVELS - 1)
            return NULL;
    }
    struct fin_hold_level *l = fin_host_map(sizeof *l + rows * sizeof *l->row, 0);
    if (l) {
        l->rows = rows;
        __atomic_store_n(end, l, __ATOMIC_RELEASE); // for who looks from outside
    }
    return l;
}

// While levels are in use, holds_most says so by one more than there are other places.
static const void **place_in_levels(struct fin_runtime *rt, const void *holder) {
    const void **place = NULL;
    rt->holds_most = FIN_HOLDS + 1;
    for (struct fin_hold_level *l = rt->hold_levels; l && !place; l = l->next)
        place = find(row_of(l, holder), FIN_HOLDS_ROW, NULL);
    struct fin_hold_level *more = place ? NULL : add_level(rt);
    return more ? row_of(more, holder) : place;
}

const void **fin_hold_more(struct fin_runtime *rt, const void *holder) {
    const void **place = find(rt->holds + 1, FIN_HOLDS - 1, NULL);
    if (!place)
        place = place_in_levels(rt, holder);
    else if (rt->holds_most <= place - rt->holds)
        rt->holds_most = (uint32_t)(place - rt->holds) + 1;
    if (place)
        __atomic_store_n(place, holder, __ATOMIC_RELAXED);
    return place;
}

// Others empty places unseen, so now and then it is looked whether any is taken.
static bool levels_empty(struct fin_runtime *rt) {
    if (++rt->holds_asked % PATIENCE != 0)
        return false;
    for (struct fin_hold_level *l = rt->hold_levels; l; l = l->next)
        for (uint32_t i = 0; i < l->rows; i++)
            for (int k = 0; k < FIN_HOLDS_ROW; k++)
                if (__atomic_load_n(&l->row[i][k], __ATOMIC_RELAXED))
                    return false;
    return true;
}

static bool in_levels(const struct fin_runtime *rt, const void *holder) {
    for (struct fin_hold_level *l = first_level(rt); l; l = level_after(l))
        if (find(row_of(l, holder), FIN_HOLDS_ROW, holder))
            return true;
    return false;
}

bool fin_holds_more(struct fin_runtime *rt, const void *holder) {
    if (rt->holds_most > FIN_HOLDS && levels_empty(rt))
        rt->holds_most = FIN_HOLDS;
    while (rt->holds_most > 1 && rt->holds_most <= FIN_HOLDS && !get(rt, rt->holds_most - 1))
        rt->holds_most--;
    uint32_t most = rt->holds_most > FIN_HOLDS ? FIN_HOLDS : rt->holds_most;
    return find(rt->holds, most ? most : 1, holder) || (rt->holds_most > FIN_HOLDS && in_levels(rt, holder));
}

bool fin_holds_any(const struct fin_runtime *rt, const void *holder) {
    return find((const void **)rt->holds, FIN_HOLDS, holder) || in_levels(rt, holder);
}

// Who unlocks it meanwhile has not seen the end of the AWE: then the place is free, and stays so.
static void forget(const void **places, size_t count, const void *holder, const void *instead) {
    for (const void **p = places; p < places + count; p++) {
        const void *was = __atomic_load_n(p, __ATOMIC_RELAXED);
        if (was && (!holder || holder_at(p) == holder))
            __atomic_compare_exchange_n(p, &was, instead, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

// Who has a lock that nobody will unlock. At even addresses: the lowest bit of a holder is FIN_HOLD_NO_LOCK.
static _Alignas(2) const char nobody, nobody_of_this_thread;

void fin_holds_forget(struct fin_runtime *rt, const void *holder) {
    forget(rt->holds, FIN_HOLDS, holder, &nobody_of_this_thread);
    for (struct fin_hold_level *l = rt->hold_levels; l; l = l->next)
        forget(row_of(l, holder), FIN_HOLDS_ROW, holder, &nobody_of_this_thread);
}

void fin_holds_end(struct fin_runtime *rt) {
    forget(rt->holds, FIN_HOLDS, NULL, &nobody);
    for (struct fin_hold_level *l = rt->hold_levels; l; l = l->next)
        forget(l->row[0], (size_t)l->rows * FIN_HOLDS_ROW, NULL, &nobody);
}

static unsigned count(const void *const *places, size_t n) {
    unsigned taken = 0;
    for (const void *const *p = places; p < places + n; p++) {
        const void *holder = __atomic_load_n(p, __ATOMIC_RELAXED);
        taken += holder && holder != &nobody && !((uintptr_t)holder & FIN_HOLD_NO_LOCK);
    }
    return taken;
}

unsigned fin_holds_count(const struct fin_runtime *rt) {
    unsigned n = count((const void *const *)rt->holds, FIN_HOLDS);
    for (const struct fin_hold_level *l = first_level(rt); l; l = level_after(l))
        n += count((const void *const *)l->row[0], (size_t)l->rows * FIN_HOLDS_ROW);
    return n;
}

bool fin_hold_is(const struct fin_runtime *rt, const void *const *place) {
    bool is = place >= (const void *const *)rt->holds && place < (const void *const *)rt->holds + FIN_HOLDS;
    for (struct fin_hold_level *l = first_level(rt); l && !is; l = level_after(l))
        is = place >= (const void *const *)l->row[0] && place < (const void *const *)l->row[l->rows];
    return is;
}

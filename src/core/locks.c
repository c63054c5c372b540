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

const void **fin_hold_more(struct fin_runtime *rt, const void *holder) {
    for (uint32_t i = 1; i < FIN_HOLDS; i++) {
        if (get(rt, i))
            continue;
        __atomic_store_n(&rt->holds[i], holder, __ATOMIC_RELAXED);
        if (rt->holds_most <= i)
            rt->holds_most = i + 1;
        return &rt->holds[i];
    }
    return NULL;
}

bool fin_holds_more(struct fin_runtime *rt, const void *holder) {
    while (rt->holds_most > 1 && !get(rt, rt->holds_most - 1))
        rt->holds_most--;
    uint32_t i = 0;
    do
        if (get(rt, i) == holder)
            return true;
    while (++i < rt->holds_most);
    return false;
}

// Who unlocks it meanwhile has not seen the end of the AWE: then the entry is free, and stays so.
static void forget(struct fin_runtime *rt, uint32_t i, const void *holder, const void *instead) {
    __atomic_compare_exchange_n(&rt->holds[i], &holder, instead, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static const char nobody, nobody_of_this_thread;

void fin_holds_forget(struct fin_runtime *rt, const void *holder) {
    uint32_t i = 0;
    do
        forget(rt, i, holder, &nobody_of_this_thread);
    while (++i < rt->holds_most);
}

void fin_holds_end(struct fin_runtime *rt) {
    for (uint32_t i = 0; i < FIN_HOLDS; i++) {
        const void *holder = get(rt, i);
        if (holder)
            forget(rt, i, holder, &nobody);
    }
}

unsigned fin_holds_count(const struct fin_runtime *rt) {
    unsigned n = 0;
    for (uint32_t i = 0; i < FIN_HOLDS; i++)
        n += get(rt, i) && get(rt, i) != &nobody;
    return n;
}

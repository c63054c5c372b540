// SPDX-License-Identifier: BSD-2-Clause
#include "core/locks.h"

static const void *get(const struct fin_runtime *rt, uint32_t i) { return __atomic_load_n(&rt->holds[i], __ATOMIC_RELAXED); }

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

void fin_holds_forget(struct fin_runtime *rt, const void *holder) {
    static const char nobody;
    uint32_t i = 0;
    do
        // Who unlocks it meanwhile has not seen the end of the AWE: then the entry is free, and stays so.
        __atomic_compare_exchange_n(&rt->holds[i], &(const void *){holder}, &nobody, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    while (++i < rt->holds_most);
}

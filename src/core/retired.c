// SPDX-License-Identifier: BSD-2-Clause
// The address space of threads that have ended. It reads as zeroes: an AWE there that somebody still names, who lost a race
// to make it run, is none any more, and to look at it is no crash. Later threads take what they need from it, so that it is
// never more than was in use at once. Whoever finds the table in use, or full, does without: in the child of a fork it may
// stay so.
#include "core/runtime.h"

enum { MOST = 4096 };

static struct range {
    void *base;
    size_t size, align;
} table[MOST];
static size_t count;
static bool in_use;

static bool enter(void) { return !__atomic_exchange_n(&in_use, true, __ATOMIC_ACQUIRE); }
static void leave(void) { __atomic_store_n(&in_use, false, __ATOMIC_RELEASE); }

void fin_memory_end(void *p, size_t size, size_t align) {
    bool kept = false;
    if (enter()) {
        kept = count < MOST && fin_host_renew(p, size, align);
        if (kept)
            table[count++] = (struct range){p, size, align};
        leave();
    }
    if (!kept)
        fin_host_unmap(p, size);
}

static void *take(size_t size, size_t align) {
    for (size_t i = count; i-- > 0;) {
        void *p = table[i].base;
        if (table[i].size != size || table[i].align != align)
            continue;
        table[i] = table[--count];
        return p;
    }
    return NULL;
}

void *fin_memory_new(size_t size, size_t align) {
    void *p = NULL;
    if (enter()) {
        p = take(size, align);
        leave();
    }
    return p ? p : fin_host_map(size, align);
}

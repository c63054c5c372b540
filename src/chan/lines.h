// SPDX-License-Identifier: BSD-2-Clause
// What the steps of a thread look at themselves (step.c). A sender in another process can reach only the memory that the two
// share, and signals, which takes the time of some ten thousand instructions; one in another thread takes several lines
// away from this processor until it has rung. So while the thread runs steps, channels of the sets that it monitors are not
// armed. The place where the next message's header will be stands on a list, with what is there now; each step looks whether
// one has changed, and in a transaction they are in its read set. No other process writes the list, so none can hide
// another's message.
//
// The list is in use (`on`) from the first step until the thread is about to sleep, enables alerts, or has looked for work
// some times without a step between: then they are all armed.
//
// Locks: those of waitset.h; the list's own latch comes last. It guards the list, which who removes a channel changes from
// another thread. A transaction does without: what changes the list aborts it.
#ifndef FIN_CHAN_LINES_H
#define FIN_CHAN_LINES_H

#include <fin/sync.h>

#include "core/runtime.h"

struct fin_waitset;
struct fin_waitset_source;

// Lists one, with the latch of its set. False: the list is not in use, or has as many as it is to have.
bool fin_lines_add(struct fin_runtime *rt, struct fin_waitset_source *s);
// With the latch of its set: is the place on the list no longer that of its next message?
bool fin_lines_left(struct fin_runtime *rt, struct fin_waitset_source *s);
// With the latch of its set, which the thread monitors: it is not on the list any more, where it was.
void fin_lines_remove(struct fin_runtime *rt, struct fin_waitset_source *s);
static inline uint32_t fin_lines_room(const struct fin_runtime *rt) { return FIN_LINES - rt->lines.count; }
// With the latch of the set: one of its own whose line has changed, before place *i of the list, which becomes its place; or
// NULL. And any of its own, which is no longer on the list.
struct fin_waitset_source *fin_lines_next_changed(struct fin_runtime *rt, const struct fin_waitset *w, uint32_t *i);
struct fin_waitset_source *fin_lines_take(struct fin_runtime *rt, const struct fin_waitset *w);

// Of this thread: the list comes into use, and is no longer in use.
void fin_lines_begin(struct fin_runtime *rt);
void fin_lines_end(struct fin_runtime *rt);
void fin_lines_forget(struct fin_runtime *rt); // in the child of a fork

static inline struct fin_latch *fin_lines_latch(struct fin_runtime *rt) {
    _Static_assert(sizeof(struct fin_latch) == sizeof rt->lines.latch, "the core does not know it");
    return (struct fin_latch *)&rt->lines.latch;
}

// Has one of them changed? In a transaction, or with the latch of the list.
static inline bool fin_lines_changed_now(const struct fin_runtime *rt) {
    const struct fin_lines *l = &rt->lines;
    uint32_t n = __atomic_load_n(&l->count, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *at = __atomic_load_n(&l->at[i], __ATOMIC_RELAXED);
        if (__atomic_load_n(at, __ATOMIC_ACQUIRE) != __atomic_load_n(&l->seen[i], __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

static inline bool fin_lines_on(const struct fin_runtime *rt) { return __atomic_load_n(&rt->lines.on, __ATOMIC_RELAXED); }

static inline bool fin_lines_changed(struct fin_runtime *rt) {
    if (FIN_LIKELY(!fin_lines_on(rt)))
        return false;
    fin_latch_acquire(fin_lines_latch(rt));
    bool changed = fin_lines_changed_now(rt);
    fin_latch_release(fin_lines_latch(rt));
    return changed;
}

#endif

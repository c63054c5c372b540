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
// What a step costs does not depend on how many are listed: it looks at as many as take about a fiftieth of its time, and
// the next step at the next ones. So where many are listed a message waits for up to some fifty times as long as a look at
// all of them takes; once one has changed all are looked at.
//
// Locks: those of waitset.h; the list's own latch comes last. It guards the list, which who removes a channel changes from
// another thread. A transaction does without: what changes the list aborts it.
#ifndef FIN_CHAN_LINES_H
#define FIN_CHAN_LINES_H

#include <fin/sync.h>

#include "core/runtime.h"

struct fin_waitset;
struct fin_waitset_source;

// Groups of lines: they are looked at together, without a branch for each.
enum { FIN_LINES_GROUP = 4, FIN_LINES_LEAST = 2 }; // a step looks at two groups, however short it is

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

static inline uint32_t fin_lines_groups(const struct fin_lines *l) {
    return (__atomic_load_n(&l->count, __ATOMIC_RELAXED) + FIN_LINES_GROUP - 1) / FIN_LINES_GROUP;
}

// A step begins: the turn is the next ones'.
void fin_lines_next_turn(struct fin_runtime *rt);
static inline void fin_lines_turn(struct fin_runtime *rt) {
    if (FIN_UNLIKELY(fin_lines_groups(&rt->lines) > FIN_LINES_LEAST))
        fin_lines_next_turn(rt);
}

// Zero: none of them has changed. Places behind the last one are those of a word that nobody writes.
static inline uint32_t fin_lines_of_group(const struct fin_lines *l, uint32_t group) {
    uint32_t changed = 0;
    for (uint32_t i = group * FIN_LINES_GROUP; i < (group + 1) * FIN_LINES_GROUP; i++) {
        const uint32_t *at = __atomic_load_n(&l->at[i], __ATOMIC_RELAXED);
        changed |= __atomic_load_n(at, __ATOMIC_RELAXED) ^ __atomic_load_n(&l->seen[i], __ATOMIC_RELAXED);
    }
    return changed;
}

// Has one changed of those whose turn it is? In a transaction, or with the latch of the list, which is in use.
static inline bool fin_lines_changed_now(const struct fin_runtime *rt) {
    const struct fin_lines *l = &rt->lines;
    uint32_t groups = fin_lines_groups(l), group = l->next < groups ? l->next : 0;
    uint32_t changed = fin_lines_of_group(l, group);
    for (uint32_t k = 1; k < l->share && k < groups; k++) {
        group = group + 1 < groups ? group + 1 : 0;
        changed |= fin_lines_of_group(l, group);
    }
    return changed != 0;
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

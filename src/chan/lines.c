// SPDX-License-Identifier: BSD-2-Clause
// See lines.h.
#include "chan/lines.h"

#include <fin/time.h>

#include "chan/waitset.h"

enum { FEW = 16 }; // of this process, rather than have a thread ring: beyond that, one word for all of them is enough

static void set_line(struct fin_lines *l, uint32_t i, const uint32_t *at, uint32_t seen, struct fin_waitset_source *s) {
    __atomic_store_n(&l->at[i], at, __ATOMIC_RELAXED);
    __atomic_store_n(&l->seen[i], seen, __ATOMIC_RELAXED);
    l->source[i] = s;
    __atomic_store_n(&s->line, (uint16_t)(i + 1), __ATOMIC_RELAXED); // of any set, which asks with its own latch
}

static const uint32_t nothing; // changes

static void clear_line(struct fin_lines *l, uint32_t i) {
    __atomic_store_n(&l->at[i], &nothing, __ATOMIC_RELAXED);
    __atomic_store_n(&l->seen[i], 0, __ATOMIC_RELAXED);
}

static void clear_all(struct fin_lines *l) {
    for (uint32_t i = 0; i < FIN_LINES; i++)
        clear_line(l, i);
}

static void set_count(struct fin_lines *l, uint32_t n) { __atomic_store_n(&l->count, n, __ATOMIC_RELAXED); }

// The half of the header with the lap: it is another with each message there, and where a line is cleared.
static const uint32_t *place_of(const struct ump_rx *rx) {
    _Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "it is the first");
    return (const uint32_t *)(const void *)ump_line(rx->ring, __atomic_load_n(&rx->tail, __ATOMIC_RELAXED), rx->lines);
}

static bool is_inside(const struct fin_waitset_source *s) { return s->chan->in.ump.meeting; }

bool fin_lines_add(struct fin_runtime *rt, struct fin_waitset_source *s) {
    struct fin_lines *l = &rt->lines;
    const uint32_t *at = place_of(&s->chan->in.ump);
    fin_latch_acquire(fin_lines_latch(rt));
    bool can = fin_lines_on(rt) && l->count < FIN_LINES && !(is_inside(s) && l->inside == FEW);
    if (can) {
        l->inside += is_inside(s);
        set_line(l, l->count, at, __atomic_load_n(at, __ATOMIC_RELAXED), s);
        set_count(l, l->count + 1);
    }
    fin_latch_release(fin_lines_latch(rt));
    return can;
}

bool fin_lines_left(struct fin_runtime *rt, struct fin_waitset_source *s) {
    if (__atomic_load_n(&s->line, __ATOMIC_RELAXED) == 0)
        return false;
    fin_latch_acquire(fin_lines_latch(rt));
    bool left = rt->lines.at[s->line - 1u] != place_of(&s->chan->in.ump);
    fin_latch_release(fin_lines_latch(rt));
    return left;
}

// With the list's latch. The last takes its place.
static void remove_line(struct fin_lines *l, struct fin_waitset_source *s) {
    uint32_t i = s->line - 1u, last = l->count - 1;
    l->inside -= is_inside(s);
    set_line(l, i, l->at[last], l->seen[last], l->source[last]);
    clear_line(l, last);
    set_count(l, last);
    __atomic_store_n(&s->line, 0, __ATOMIC_RELAXED);
}

void fin_lines_remove(struct fin_runtime *rt, struct fin_waitset_source *s) {
    if (__atomic_load_n(&s->line, __ATOMIC_RELAXED) == 0)
        return;
    fin_latch_acquire(fin_lines_latch(rt));
    remove_line(&rt->lines, s);
    fin_latch_release(fin_lines_latch(rt));
}

static bool of_set(const struct fin_waitset_source *s, const struct fin_waitset *w) {
    return __atomic_load_n(&s->set, __ATOMIC_RELAXED) == w;
}

struct fin_waitset_source *fin_lines_next_changed(struct fin_runtime *rt, const struct fin_waitset *w, uint32_t *i) {
    struct fin_lines *l = &rt->lines;
    struct fin_waitset_source *found = NULL;
    fin_latch_acquire(fin_lines_latch(rt));
    for (uint32_t k = *i < l->count ? *i : l->count; k-- && !found; *i = k) {
        if (of_set(l->source[k], w) && __atomic_load_n(l->at[k], __ATOMIC_ACQUIRE) != l->seen[k])
            found = l->source[k];
    }
    fin_latch_release(fin_lines_latch(rt));
    return found;
}

struct fin_waitset_source *fin_lines_take(struct fin_runtime *rt, const struct fin_waitset *w) {
    struct fin_lines *l = &rt->lines;
    struct fin_waitset_source *found = NULL;
    fin_latch_acquire(fin_lines_latch(rt));
    for (uint32_t i = l->count; i-- && !found;)
        if (of_set(l->source[i], w))
            found = l->source[i];
    if (found)
        remove_line(l, found);
    fin_latch_release(fin_lines_latch(rt));
    return found;
}

// So many steps are timed together. A look at a group takes some ten cycles, a fiftieth of that many ns.
enum { TIMED = 64, GROUP_NS = 200, MOST_GROUPS = FIN_LINES / FIN_LINES_GROUP };
_Static_assert(MOST_GROUPS * FIN_LINES_GROUP == FIN_LINES, "the last group is one");

static uint16_t share_of(uint64_t ns) {
    uint64_t share = ns / TIMED / GROUP_NS;
    return (uint16_t)(share < FIN_LINES_LEAST ? FIN_LINES_LEAST : share < MOST_GROUPS ? share : MOST_GROUPS);
}

void fin_lines_next_turn(struct fin_runtime *rt) {
    struct fin_lines *l = &rt->lines;
    uint32_t groups = fin_lines_groups(l), next = l->next + l->share;
    l->next = (uint16_t)(next < groups ? next : next - groups < groups ? next - groups : 0);
    if (l->steps-- == 0) {
        uint64_t now = fin_now();
        l->share = share_of(now - l->timed);
        l->timed = now;
        l->steps = TIMED - 1;
    }
}

static void each_set(struct fin_runtime *rt, bool now) {
    for (struct fin_waitset *w = rt->monitored; w; w = w->next) {
        fin_latch_acquire(&w->waiters.latch);
        if (now)
            fin_waitset_list_lines(w);
        else
            fin_waitset_arm_lines(w, rt);
        fin_waitset_release(w);
    }
}

static void use(struct fin_runtime *rt, bool now) {
    fin_latch_acquire(&fin_waitset_changes);
    fin_latch_acquire(fin_lines_latch(rt));
    if (!rt->lines.at[0])
        clear_all(&rt->lines);
    __atomic_store_n(&rt->lines.on, now && rt->monitored, __ATOMIC_RELAXED);
    rt->lines.wanted = !now;
    rt->lines.share = MOST_GROUPS; // until it is known how long a step takes
    rt->lines.steps = 0;
    fin_latch_release(fin_lines_latch(rt));
    each_set(rt, now);
    fin_latch_release(&fin_waitset_changes);
}

void fin_lines_begin(struct fin_runtime *rt) { use(rt, true); }
void fin_lines_end(struct fin_runtime *rt) { use(rt, false); }

void fin_lines_forget(struct fin_runtime *rt) {
    fin_latch_init(fin_lines_latch(rt));
    clear_all(&rt->lines);
    rt->lines.count = rt->lines.on = rt->lines.inside = 0;
    rt->lines.wanted = false;
}

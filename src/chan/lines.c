// SPDX-License-Identifier: BSD-2-Clause
// See lines.h.
#include "chan/lines.h"

#include "chan/waitset.h"

static void set_line(struct fin_line *to, const struct fin_line *from) {
    __atomic_store_n(&to->at, from->at, __ATOMIC_RELAXED);
    __atomic_store_n(&to->seen, from->seen, __ATOMIC_RELAXED);
    to->source = from->source;
}

static void set_count(struct fin_runtime *rt, uint32_t n) { __atomic_store_n(&rt->lines.count, n, __ATOMIC_RELAXED); }

bool fin_lines_add(struct fin_runtime *rt, struct fin_waitset_source *s, uint32_t most) {
    struct fin_lines *l = &rt->lines;
    const struct ump_rx *rx = &s->chan->in.ump;
    const uint64_t *at = (const uint64_t *)ump_line(rx->ring, __atomic_load_n(&rx->tail, __ATOMIC_RELAXED), rx->lines);
    const struct fin_line line = {at, __atomic_load_n(at, __ATOMIC_RELAXED), s};
    fin_latch_acquire(fin_lines_latch(rt));
    bool can = fin_lines_on(rt) && l->count < most;
    if (can) {
        set_line(&l->line[l->count], &line);
        set_count(rt, l->count + 1);
        s->line = (uint16_t)l->count;
    }
    fin_latch_release(fin_lines_latch(rt));
    return can;
}

// With the list's latch. The last takes its place.
static void remove_line(struct fin_runtime *rt, struct fin_waitset_source *s) {
    struct fin_lines *l = &rt->lines;
    struct fin_line *place = &l->line[s->line - 1], *last = &l->line[l->count - 1];
    last->source->line = s->line;
    set_line(place, last);
    set_count(rt, l->count - 1);
    s->line = 0;
}

void fin_lines_remove(struct fin_runtime *rt, struct fin_waitset_source *s) {
    fin_latch_acquire(fin_lines_latch(rt));
    remove_line(rt, s);
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
        const struct fin_line *line = &l->line[k];
        if (of_set(line->source, w) && __atomic_load_n(line->at, __ATOMIC_ACQUIRE) != line->seen)
            found = line->source;
    }
    fin_latch_release(fin_lines_latch(rt));
    return found;
}

struct fin_waitset_source *fin_lines_take(struct fin_runtime *rt, const struct fin_waitset *w) {
    struct fin_lines *l = &rt->lines;
    struct fin_waitset_source *found = NULL;
    fin_latch_acquire(fin_lines_latch(rt));
    for (uint32_t i = l->count; i-- && !found;)
        if (of_set(l->line[i].source, w))
            found = l->line[i].source;
    if (found)
        remove_line(rt, found);
    fin_latch_release(fin_lines_latch(rt));
    return found;
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
    __atomic_store_n(&rt->lines.on, now && rt->monitored, __ATOMIC_RELAXED);
    rt->lines.wanted = !now;
    fin_latch_release(fin_lines_latch(rt));
    each_set(rt, now);
    fin_latch_release(&fin_waitset_changes);
}

void fin_lines_begin(struct fin_runtime *rt) { use(rt, true); }
void fin_lines_end(struct fin_runtime *rt) { use(rt, false); }

void fin_lines_forget(struct fin_runtime *rt) {
    fin_latch_init(fin_lines_latch(rt));
    rt->lines.count = rt->lines.on = 0;
    rt->lines.wanted = false;
}

// SPDX-License-Identifier: BSD-2-Clause
// While they count, each block is in one counter only: with_continuation without those handed off, these without those
// recognized; and what suspends with its stack for the program's own reasons is `suspended` less the others. Looks yield,
// and are in both.
#include "core/runtime.h"

// Another thread's may be read in the midst of being counted.
static void less(uint64_t *n, uint64_t m) { *n -= m < *n ? m : *n; }

static void of(const struct fin_runtime *rt, struct fin_stats *out) {
    *out = rt->stats;
    out->switches += rt->turn - rt->ticks;
    out->stacks_used = fin_stacks_used(rt);
    out->blocks[FIN_FOR_FINISH].with_stack = rt->finish_waits;
    uint64_t suspended = 0;
    for (int i = 0; i < FIN_REASONS; i++) {
        struct fin_blocks *b = &out->blocks[i];
        b->handed_off += b->recognized;
        b->with_continuation += b->handed_off;
        if (i == FIN_FOR_LOOK)
            continue;
        out->compressed += b->with_continuation;
        out->handed_off += b->handed_off;
        b->recognized += rt->known[i];
        out->recognized += b->recognized;
        suspended += i == FIN_FOR_FINISH || i == FIN_FOR_TURN ? 0 : b->with_stack;
    }
    less(&out->blocks[FIN_FOR_TURN].with_stack, out->blocks[FIN_FOR_LOOK].with_stack);
    uint64_t others = out->suspended;
    less(&others, suspended);
    out->blocks[FIN_FOR_PROGRAM].with_stack += others;
}

static void add(struct fin_stats *sum, const struct fin_stats *s) {
    typedef uint64_t __attribute__((may_alias)) counter;
    uint64_t most = sum->stacks_most > s->stacks_most ? sum->stacks_most : s->stacks_most;
    for (size_t i = 0; i < sizeof *s / sizeof(counter); i++)
        ((counter *)sum)[i] += ((const counter *)s)[i];
    sum->stacks_most = most;
}

void fin_stats_end(struct fin_runtime *rt) {
    struct fin_stats s;
    of(rt, &s);
    add(&rt->stats_before, &s);
}

void fin_stats_all(struct fin_stats *out) {
    *out = (struct fin_stats){0};
    for (const struct fin_runtime *rt = __atomic_load_n(&fin_runtimes, __ATOMIC_ACQUIRE); rt; rt = rt->next) {
        struct fin_stats s;
        bool in_use = __atomic_load_n(&rt->in_use, __ATOMIC_ACQUIRE);
        add(out, &rt->stats_before);
        if (!in_use)
            continue;
        of(rt, &s);
        add(out, &s);
    }
}

void fin_stats(struct fin_stats *out) { of(fin_here(), out); }

static void clear(struct fin_runtime *rt) {
    uint64_t stacks = rt->stats.stacks;
    rt->stats = (struct fin_stats){.stacks = stacks, .switches = rt->ticks - (uint64_t)rt->turn};
    for (int i = 0; i < FIN_REASONS; i++)
        rt->known[i] = 0;
    rt->finish_waits = 0;
}

void fin_stats_clear(void) { clear(fin_here()); }

void fin_stats_forget_parent(void) {
    for (struct fin_runtime *rt = __atomic_load_n(&fin_runtimes, __ATOMIC_ACQUIRE); rt; rt = rt->next) {
        rt->stats_before = (struct fin_stats){0};
        clear(rt);
    }
}

// SPDX-License-Identifier: BSD-2-Clause
#include "host/linux/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/runtime.h"
#include "host/linux/quiet.h"

static const char *const names[FIN_REASONS] = {
    [FIN_FOR_PROGRAM] = "the program's own", [FIN_FOR_TURN] = "a turn", [FIN_FOR_FINISH] = "the end of a finish block",
    [FIN_FOR_SYNC] = "sync objects",         [FIN_FOR_IO] = "I/O",      [FIN_FOR_TIME] = "time",
    [FIN_FOR_MESSAGE] = "a message",         [FIN_FOR_LOOK] = "looking for a message",
};

static double percent(uint64_t part, uint64_t whole) { return whole ? 100.0 * (double)part / (double)whole : 0; }

static void line(const char *name, const struct fin_blocks *b) {
    uint64_t all = b->with_stack + b->with_continuation;
    fprintf(stderr, "fin: %-26s %12" PRIu64 " %12" PRIu64 " %11.1f%% %10.1f%% %10.1f%%\n", name, all, b->with_stack,
            percent(b->with_continuation, all), percent(b->handed_off, all), percent(b->recognized, all));
}

static void print(void) {
    struct fin_quiet q = fin_be_quiet();
    struct fin_stats s;
    struct fin_blocks all = {0};
    fin_stats_all(&s);
    fprintf(stderr, "fin: %-26s %12s %12s %12s %11s %11s\n", "blocked for", "times", "with a stack", "continuation",
            "handed off", "recognized");
    for (int i = 0; i < FIN_REASONS; i++) {
        const struct fin_blocks *b = &s.blocks[i];
        if (i == FIN_FOR_LOOK || b->with_stack + b->with_continuation == 0)
            continue;
        line(names[i], b);
        all.with_stack += b->with_stack;
        all.with_continuation += b->with_continuation;
        all.handed_off += b->handed_off;
        all.recognized += b->recognized;
    }
    line("all", &all);
    if (s.blocks[FIN_FOR_LOOK].with_stack + s.blocks[FIN_FOR_LOOK].with_continuation)
        line(names[FIN_FOR_LOOK], &s.blocks[FIN_FOR_LOOK]);
    fprintf(stderr,
            "fin: stacks in use of a thread: %.1f on average, %" PRIu64 " at most; %" PRIu64 " switches, %" PRIu64
            " asyncs blocked\n",
            s.stacks_samples ? (double)s.stacks_sum / (double)s.stacks_samples : 0, s.stacks_most, s.switches, s.detached);
    fin_be_as_before(&q);
}

void fin_stats_begin(void) {
    const char *text = getenv("FIN_STATS");
    if (text && strcmp(text, "0") != 0 && atexit(print) != 0)
        fin_host_die("FIN_STATS: no memory for it");
}

// SPDX-License-Identifier: BSD-2-Clause
// How often AWEs block with a continuation, and what of that is handed off and recognized (continuations 4.2, tables 1 and
// 2; stacks in use: 4.3).
#include <inttypes.h>

#include <fin.h>

#include "rows.h"
#include "workloads.h"

struct workload {
    const char *name;
    void (*run)(void *);
    struct fin_stats stats;
};

static void measured(void *arg) {
    struct workload *w = arg;
    w->run(NULL);
    fin_stats(&w->stats);
}

static double percent(uint64_t part, uint64_t whole) { return whole ? 100.0 * (double)part / (double)whole : 0; }

static uint64_t blocks_of(const struct fin_stats *s) {
    uint64_t all = 0;
    for (int i = 0; i < FIN_REASONS; i++)
        all += s->blocks[i].with_stack + s->blocks[i].with_continuation;
    return all;
}

static void line(const char *name, const struct workload *w, int n, uint64_t (*part)(const struct fin_stats *, int),
                 int reason) {
    printf("  %-34s", name);
    for (int i = 0; i < n; i++) {
        uint64_t count = part(&w[i].stats, reason);
        printf("%12" PRIu64 "%7.1f%%", count, percent(count, blocks_of(&w[i].stats)));
        bench_csv("blocks", w[i].name, name, (double)count);
    }
    printf("\n");
}

static uint64_t with_continuation(const struct fin_stats *s, int reason) { return s->blocks[reason].with_continuation; }
static uint64_t compressed(const struct fin_stats *s, int unused) { return (void)unused, s->compressed; }
static uint64_t not_compressed(const struct fin_stats *s, int unused) { return (void)unused, blocks_of(s) - s->compressed; }
static uint64_t all(const struct fin_stats *s, int unused) { return (void)unused, blocks_of(s); }
static uint64_t recognized(const struct fin_stats *s, int unused) { return (void)unused, s->recognized; }
static uint64_t handed_off(const struct fin_stats *s, int unused) { return (void)unused, s->handed_off; }

void table_blocks(void) {
    static const char *const names[FIN_REASONS] = {
        [FIN_FOR_PROGRAM] = "a call or an answer", [FIN_FOR_TURN] = "a turn", [FIN_FOR_LOOK] = "a look", [FIN_FOR_FINISH] = "the end of a finish block",
        [FIN_FOR_SYNC] = "sync objects",           [FIN_FOR_IO] = "I/O",      [FIN_FOR_TIME] = "time",
        [FIN_FOR_MESSAGE] = "a message",
    };
    struct workload w[] = {{.name = "quote server", .run = quote_server},
                           {.name = "file tree", .run = file_tree},
                           {.name = "RPC service", .run = rpc_service}};
    enum { N = sizeof w / sizeof *w };
    for (int i = 0; i < N; i++) {
        struct fin_thread_handle t; // whose counters begin with it
        if (fin_thread_start(&t, measured, &w[i]) != 0)
            return;
        fin_thread_join_nc(&t);
    }
    printf("\nBlocks with a continuation, by reason, and of these handed off and recognized; aim: 99%% compressed, 60%% "
           "recognized\n");
    printf("  %-34s", "");
    for (int i = 0; i < N; i++)
        printf("%20s", w[i].name);
    printf("\n");
    for (int r = 0; r < FIN_REASONS; r++)
        if (w[0].stats.blocks[r].with_continuation + w[1].stats.blocks[r].with_continuation +
            w[2].stats.blocks[r].with_continuation)
            line(names[r], w, N, with_continuation, r);
    line("compression total", w, N, compressed, 0);
    line("no compression", w, N, not_compressed, 0);
    line("blocks", w, N, all, 0);
    line("recognition", w, N, recognized, 0);
    line("stack handoff", w, N, handed_off, 0);
    printf("  %-34s", "stacks in use: average, most");
    for (int i = 0; i < N; i++) {
        const struct fin_stats *s = &w[i].stats;
        printf("%12.1f%8" PRIu64, (double)s->stacks_sum / (double)s->stacks_samples, s->stacks_most);
    }
    printf("\n");
}

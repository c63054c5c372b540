// SPDX-License-Identifier: BSD-2-Clause
// How often AWEs block with a continuation, and what of that is handed off and recognized (continuations 4.2, tables 1 and
// 2; stacks in use: 4.3).
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <fin.h>

#include "rows.h"
#include "workloads.h"

static const char *const reasons[FIN_REASONS] = {
    [FIN_FOR_PROGRAM] = "a call or an answer",
    [FIN_FOR_TURN] = "a turn",
    [FIN_FOR_FINISH] = "the end of a finish block",
    [FIN_FOR_SYNC] = "sync objects",
    [FIN_FOR_IO] = "I/O",
    [FIN_FOR_TIME] = "time",
    [FIN_FOR_MESSAGE] = "a message",
    [FIN_FOR_LOOK] = "looking for a message",
};

// An example counts for itself: what it prints, in parts of a thousand, is counted back. Returns NULL, or why there is none.
static const char *of_example(const char *name, const char *option, struct fin_stats *out) {
    char path[4096] = "", command[5000], line[256], reason[64];
    double times, stack, with, handed, known, average, most;
    bool found = false;
    BENCH_SYS(readlink("/proc/self/exe", path, sizeof path - 1));
    for (int up = 0; up < 3 && strrchr(path, '/'); up++)
        *strrchr(path, '/') = 0;
    snprintf(command, sizeof command, "%s/examples/%s", path, name);
    if (access(command, X_OK) != 0)
        return "not built (examples)";
    snprintf(command, sizeof command, "FIN_STATS=1 '%s/examples/%s' %s 2>&1", path, name, option);
    *out = (struct fin_stats){0};
    FILE *f;
    BENCH_GOT(f = popen(command, "r"));
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "fin: stacks in use of a thread: %lf on average, %lf", &average, &most) == 2) {
            out->stacks_sum = (uint64_t)(10 * average + 0.5);
            out->stacks_samples = 10;
            out->stacks_most = (uint64_t)most;
        }
        if (sscanf(line, "fin: %63[^0-9]%lf%lf%lf%%%lf%%%lf%%", reason, &times, &stack, &with, &handed, &known) != 6)
            continue;
        for (int i = 0; i < FIN_REASONS; i++)
            if (strncmp(reason, reasons[i], strlen(reasons[i])) == 0)
                out->blocks[i] =
                    (struct fin_blocks){.with_stack = (uint64_t)stack, .with_continuation = (uint64_t)(times - stack)};
        if (strncmp(reason, "all ", 4) != 0)
            continue;
        found = true;
        out->compressed = (uint64_t)(times - stack);
        out->handed_off = (uint64_t)(times * handed / 100);
        out->recognized = (uint64_t)(times * known / 100);
    }
    int status = pclose(f);
    if (status != 0 || !found)
        bench_failed(status ? "it failed" : "it printed no counters", command, 0, 0);
    return NULL;
}

static const char *of_store(struct fin_stats *out) {
    return of_example("store", bench_options.quick ? "--short" : "", out);
}

static const char *of_server(struct fin_stats *out) {
    rpc_server(out);
    return NULL;
}

static struct workload {
    const char *name;
    void (*run)(void *);                        // in a thread of its own
    const char *(*counted)(struct fin_stats *); // or somebody has counted elsewhere. NULL, or why not
    struct fin_stats stats;
} all[] = {
    {.name = "quote server", .run = quote_server},       {.name = "file tree", .run = file_tree},
    {.name = "RPC, in a thread", .run = rpc_service},    {.name = "RPC, the clients", .run = rpc_clients},
    {.name = "RPC, the servers", .counted = of_server}, {.name = "store", .counted = of_store},
};
enum { ALL = sizeof all / sizeof *all };
static int count; // of those that could be run: the first so many

static void measured(void *arg) {
    struct workload *w = arg;
    w->run(NULL);
    fin_stats(&w->stats);
}

static const char *measure(struct workload *w) {
    struct fin_thread_handle t; // whose counters begin with it
    if (w->counted)
        return w->counted(&w->stats);
    BENCH_DID(fin_thread_start(&t, measured, w));
    fin_thread_join_nc(&t);
    return NULL;
}

static double percent(uint64_t part, uint64_t whole) { return whole ? 100.0 * (double)part / (double)whole : 0; }

static uint64_t blocks_of(const struct fin_stats *s) {
    uint64_t sum = 0;
    for (int i = 0; i < FIN_REASONS; i++)
        if (i != FIN_FOR_LOOK)
            sum += s->blocks[i].with_stack + s->blocks[i].with_continuation;
    return sum;
}

typedef uint64_t part_fn(const struct fin_stats *, int reason);
static uint64_t with_continuation(const struct fin_stats *s, int reason) { return s->blocks[reason].with_continuation; }
static uint64_t compressed(const struct fin_stats *s, int unused) { return (void)unused, s->compressed; }
static uint64_t not_compressed(const struct fin_stats *s, int unused) { return (void)unused, blocks_of(s) - s->compressed; }
static uint64_t blocks(const struct fin_stats *s, int unused) { return (void)unused, blocks_of(s); }
static uint64_t recognized(const struct fin_stats *s, int unused) { return (void)unused, s->recognized; }
static uint64_t handed_off(const struct fin_stats *s, int unused) { return (void)unused, s->handed_off; }

static void line(const char *name, part_fn *part, int reason) {
    printf("  %-34s", name);
    for (int i = 0; i < count; i++) {
        uint64_t n = part(&all[i].stats, reason);
        printf("%12" PRIu64 "%7.1f%%", n, percent(n, blocks_of(&all[i].stats)));
        bench_csv("blocks", all[i].name, name, (double)n);
    }
    printf("\n");
}

// They are no blocks, nor a part of them, and may be many times as many.
static void turns(const char *name) {
    printf("  %-34s", name);
    for (int i = 0; i < count; i++) {
        uint64_t n = all[i].stats.blocks[FIN_FOR_LOOK].with_continuation;
        printf("%12" PRIu64 "%8s", n, "");
        bench_csv("blocks", all[i].name, name, (double)n);
    }
    printf("\n");
}

static void aim(const char *name, part_fn *part, double least) {
    printf("  %-34s", name);
    for (int i = 0; i < count; i++) {
        bool met = percent(part(&all[i].stats, 0), blocks_of(&all[i].stats)) >= least;
        printf("%20s", met ? "met" : "MISSED");
        bench_csv("blocks", all[i].name, name, met);
    }
    printf("\n");
}

static bool blocks_for(int reason) {
    for (int i = 0; i < count; i++)
        if (all[i].stats.blocks[reason].with_continuation)
            return true;
    return false;
}

void table_blocks(void) {
    const char *why = NULL;
    for (count = 0; count < ALL && !why; count += !why) {
        why = measure(&all[count]);
        BENCH_MUST(why || blocks_of(&all[count].stats) > 0);
    }
    printf("\nBlocks with a continuation, by reason, and of these handed off and recognized\n");
    printf("  %-34s", "");
    for (int i = 0; i < count; i++)
        printf("%20s", all[i].name);
    printf("\n");
    for (int r = 0; r < FIN_REASONS; r++)
        if (r != FIN_FOR_LOOK && blocks_for(r))
            line(reasons[r], with_continuation, r);
    line("compression total", compressed, 0);
    aim("aim: 99% with compression", compressed, 99);
    line("no compression", not_compressed, 0);
    line("blocks", blocks, 0);
    line("recognition", recognized, 0);
    aim("aim: 60% with recognition", recognized, 60);
    line("stack handoff", handed_off, 0);
    if (blocks_for(FIN_FOR_LOOK))
        turns("turns given before, in a look");
    printf("  %-34s", "stacks in use: average, most");
    for (int i = 0; i < count; i++) {
        const struct fin_stats *s = &all[i].stats;
        BENCH_MUST(s->stacks_samples > 0);
        printf("%12.1f%8" PRIu64, (double)s->stacks_sum / (double)s->stacks_samples, s->stacks_most);
    }
    printf("\n");
    for (int i = count; i < ALL; i++)
        bench_skip(all[i].name, why);
}

// SPDX-License-Identifier: BSD-2-Clause
// Null calls over channels, in a thread (here.c) and between processes (far.c).
#include "calls.h"

#include <string.h>

// FAR: so many that it matters little that the server's process was asleep when they began. Those who sleep take long.
enum { N = 20000, FAR = 4000, ASLEEP = 40, BEHIND = 160 };

enum { HERE = 9 }; // rows in a thread

// Each without stacks has for its base the one with stacks that makes the same calls.
static struct bench_row rows[] = {
    {"in a thread, with stacks, queued", here_stacks_in_two, N, NULL},
    {"in a thread, with stacks, handed over", here_stacks_in_one, N, NULL},
    {"in a thread, explicit, queued", here_in_two, N, NULL, .base = 1},
    {"in a thread, explicit, recognized", here_in_one, N, NULL, .base = 2},
    {"in a thread, fin_rpc_call, accept loop", here_rpc_accepted, N, NULL},
    {"in a thread, fin_rpc_call_on, accept loop", here_rpc_accepted_on, N, NULL, .base = 5},
    {"in a thread, fin_rpc_call, served", here_rpc_served, N, NULL},
    {"in a thread, fin_rpc_call_on, served", here_rpc_served_on, N, NULL, .base = 7},
    {"in a thread, fin_rpc_call, reply_accept", here_rpc_in_turn, N, NULL},
    {"between processes, with stacks", there_with_stacks, FAR, NULL},
    {"between processes, explicit, by a waitset", there_in_set, FAR, NULL, .base = 10},
    {"between processes, explicit", there_in_one, FAR, NULL, .base = 10},
    {"between processes, 8 callers, with stacks", there_many_stacks, FAR, NULL},
    {"between processes, 8 callers, explicit", there_many_in_one, FAR, NULL, .base = 13},
    {"between processes, asleep, with stacks", asleep_with_stacks, ASLEEP, NULL},
    {"between processes, asleep, by a waitset", asleep_in_set, ASLEEP, NULL, .base = 15},
    {"between processes, asleep, explicit", asleep_in_one, ASLEEP, NULL, .base = 15},
    {"between processes, 8 asleep, with stacks", asleep_many_stacks, BEHIND, NULL},
    {"between processes, 8 asleep, explicit", asleep_many_in_one, BEHIND, NULL, .base = 18},
};

// How the callers waited, in the last repetition.
static void table_waits(void) {
    printf("\nWaits of the callers between processes, for each call\n");
    printf("  %-42s%12s%12s%12s%12s\n", "", "compressed", "handed off", "recognized", "slept");
    for (size_t i = 0; i < BENCH_COUNT(rows); i++) {
        struct fin_stats a, b;
        if (!far_counted(rows[i].run, &b, &a))
            continue;
        const uint64_t counts[] = {a.compressed - b.compressed, a.handed_off - b.handed_off, a.recognized - b.recognized,
                                   a.slept - b.slept};
        printf("  %-42s", rows[i].name);
        for (size_t j = 0; j < BENCH_COUNT(counts); j++)
            printf("%12.2f", (double)counts[j] / (double)rows[i].n);
        printf("\n");
    }
}

void table_calls(void) {
    bench_table("calls", "A null call over a channel: cycles per round trip; asleep: less those that the other computes",
                "cycles", rows, far_possible() ? BENCH_COUNT(rows) : HERE);
    if (far_possible())
        table_waits();
    else
        bench_skip("between processes", "there is one processor only");
}

bool calls_only(const char *name, long n) {
    for (size_t i = 0; i < BENCH_COUNT(rows); i++) {
        struct fin_stats before, after;
        if (strcmp(rows[i].name, name) == 0)
            return far_counted(rows[i].run, &before, &after) ? far_only(rows[i].run, n) : rows[i].run(n) != 0;
    }
    return false;
}

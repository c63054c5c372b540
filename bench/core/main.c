// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "rows.h"

static const struct {
    const char *name, *what;
    void (*run)(void);
} tables[] = {
    {"micro", "the microbenchmarks of the AC paper (5.1)", table_micro},
    {"async", "an async that does not block, against a plain call", table_async},
    {"create", "finish + async + one yield + completion", table_create},
    {"switch", "two AWEs that switch to one another", table_switch},
    {"sync", "mutexes and semaphores, beside POSIX threads'", table_sync},
    {"ring", "10,000 AWEs round-robin", table_ring},
    {"million", "a million blocked AWEs, spawn and join: against Boost.Fiber, Go, Tokio", table_million},
    {"extensions", "tables 1, 2, 3 and 5 of the extensions paper", table_extensions},
};

static int usage(const char *program) {
    printf("usage: %s [--quick] [--csv FILE] [--rivals DIR] [--table NAME]\ntables:\n", program);
    for (size_t i = 0; i < BENCH_COUNT(tables); i++)
        printf("  %-12s%s\n", tables[i].name, tables[i].what);
    return 2;
}

int main(int argc, char **argv) {
    if (argc > 1 && argv[1][0] != '-')
        return million_child(argc, argv);
    for (int i = 1; i < argc; i++)
        if (!bench_option(argv, &i))
            return usage(argv[0]);
    bool found = false;
    for (size_t i = 0; i < BENCH_COUNT(tables); i++)
        found |= !bench_options.table || strcmp(tables[i].name, bench_options.table) == 0;
    if (!found)
        return usage(argv[0]);
    bench_begin("fin-bench-core");
    for (size_t i = 0; i < BENCH_COUNT(tables); i++)
        if (!bench_options.table || strcmp(tables[i].name, bench_options.table) == 0)
            tables[i].run();
    return bench_end();
}

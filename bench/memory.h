// SPDX-License-Identifier: BSD-2-Clause
// For the benchmarks, and for rivals in C++.
#ifndef FIN_BENCH_MEMORY_H
#define FIN_BENCH_MEMORY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline long memory_sum(const char *path, const char *field, const char *other) {
    char line[256];
    long sum = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, field, strlen(field)) == 0 || strncmp(line, other, strlen(other)) == 0)
            sum += strtol(strchr(line, ':') + 1, NULL, 10);
    if (!f || sum == 0) { // no row is to have a memory of 0
        perror(path);
        exit(1);
    }
    fclose(f);
    return sum;
}

// Resident memory of the process, now (VmRSS) or at its peak (VmHWM), with the page tables of now, in KiB.
static inline long memory_kib(const char *field) { return memory_sum("/proc/self/status", field, "VmPTE:"); }

// Of the system, what can be had.
static inline long memory_available_kib(void) { return memory_sum("/proc/meminfo", "MemAvailable:", "MemAvailable:"); }

#endif

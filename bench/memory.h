// SPDX-License-Identifier: BSD-2-Clause
// For the benchmarks, and for rivals in C++.
#ifndef FIN_BENCH_MEMORY_H
#define FIN_BENCH_MEMORY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Resident memory of the process, now (VmRSS) or at its peak (VmHWM), with the page tables of now, in KiB.
static inline long memory_kib(const char *field) {
    char line[256];
    long sum = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, field, strlen(field)) == 0 || strncmp(line, "VmPTE:", 6) == 0)
            sum += strtol(strchr(line, ':') + 1, NULL, 10);
    if (f)
        fclose(f);
    return sum;
}

#endif

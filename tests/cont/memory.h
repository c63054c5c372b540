// SPDX-License-Identifier: BSD-2-Clause
// A process that gets no more memory, for scenarios that take all of its stacks first.
#ifndef FIN_TESTS_CONT_MEMORY_H
#define FIN_TESTS_CONT_MEMORY_H

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fin.h>

#include "process.h"

static inline void skip_where_watched(void) {
    if (FIN_SANITIZED || on_valgrind())
        SKIP("what watches needs memory itself");
}

static struct rlimit memory_before;

static inline void limit_memory(void) {
    CHECK_EQ(getrlimit(RLIMIT_AS, &memory_before), 0);
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1)
        SKIP("no /proc/self/statm");
    fclose(f);
    struct rlimit now = memory_before;
    now.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
    CHECK_EQ(setrlimit(RLIMIT_AS, &now), 0);
    if (mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        SKIP("the limit of the address space is not kept");
}

static inline void unlimit_memory(void) { CHECK_EQ(setrlimit(RLIMIT_AS, &memory_before), 0); }

static inline size_t spare_stacks(void) {
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks - s.stacks_used - 1; // one is kept
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// What an operation costs as the number of what there is grows. Processor time, which says little where others want the
// processor: once of five times is enough, as a cost that grows too fast does so each time.
#ifndef FIN_TESTS_GROWTH_H
#define FIN_TESTS_GROWTH_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "valgrind.h"

static inline double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// With many it takes less than `times` of what it takes with few. Where a tool looks on, whose costs grow in ways of their
// own, it only runs, with few.
static inline bool costs_less_than(double times, double (*seconds_of)(int), int few, int many) {
    seconds_of(few);
    if (ON_ASAN || ON_TSAN || RUNNING_ON_VALGRIND)
        return true;
    for (int i = 0; i < 5; i++) {
        double least = seconds_of(few), most = seconds_of(many);
        if (getenv("FIN_SHOW"))
            printf("%d: %.4f s, %d: %.4f s\n", few, least, many, most);
        if (most < times * least)
            return true;
    }
    return false;
}

#endif

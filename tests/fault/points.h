// SPDX-License-Identifier: BSD-2-Clause
// Shared between the points, which run in a child, and the driver.
#ifndef FIN_TESTS_FAULT_POINTS_H
#define FIN_TESTS_FAULT_POINTS_H

#include "fault.h"

enum { INJECT_RESULT = 1 }; // IORING_NOP_INJECT_RESULT of Linux 6.10

struct points {
    bool armed, soft, completions;
    long count, chosen;  // calls so far that can fail; the one that does
    char name[40];       // of that one
    int error;           // that it failed with
    int first;           // error that the scenario came to, or 0
    long blocks, mapped; // live memory; pages mapped
    int descriptors, advice;
    bool ended;
};

extern struct points *points; // NULL: nothing is counted

#endif

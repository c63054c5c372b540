// SPDX-License-Identifier: BSD-2-Clause
// Shared between the points, which run in a child, and the driver.
#ifndef FIN_TESTS_FAULT_POINTS_H
#define FIN_TESTS_FAULT_POINTS_H

#include "fault.h"

enum { INJECT_RESULT = 1 }; // IORING_NOP_INJECT_RESULT of Linux 6.10

// How: as errors; as interruptions; as what io_uring says of a request that it got no thread for. The last two are to be
// tried again by the library.
enum how { HARD, INTERRUPTED, UNSTARTED };

struct points {
    bool armed, completions;
    enum how how;
    long count, chosen;  // calls so far that can fail; the one that does
    char name[40];       // of that one
    int error;           // that it failed with
    int first;           // error that the scenario came to, or 0
    long blocks, mapped; // live memory; pages mapped
    int descriptors, advice;
    int handlers; // of forks
    int listener; // below.c: the child's descriptor plus one, or an error
    int unknown;  // below.c: a system call in no list, or 0
    bool served, ended;
};

extern struct points *points; // NULL: nothing is counted

// What makes calls fail: points.c, which takes their place in the child, or below.c, a parent that seccomp asks.
extern const bool below;
void begin_child(void);
int serve_child(pid_t pid); // in the parent, until the child has ended; 0, or why it cannot be

#endif

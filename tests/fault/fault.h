// SPDX-License-Identifier: BSD-2-Clause
// One failure at a time, at every point: a scenario is run in a child of its own for each call of it, or of the library in
// it, that asks the system for something; that call fails, nothing else does. What is to hold: no crash, no hang, an error
// that says what failed or what follows from it, and afterwards the same process does the whole again without any error, and
// has no more memory, maps and descriptors than one in which nothing failed.
//
//     PROGRAM        all of it        PROGRAM show        and what each failure led to
//     PROGRAM N [0, 1 or 2]        the point N alone, in this process: for a debugger
#ifndef FIN_TESTS_FAULT_H
#define FIN_TESTS_FAULT_H

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fin.h>

#include "process.h"

// The scenario, once; on a thread of its own. It gives back all that it took.
void scenario(void);
// Its threads that may overlap or not: what each takes is kept for the next.
extern const int threads;

// Before anything is counted, once, in the process that all children come from: what a scenario needs and is not about.
// Where there is nothing: NULL.
extern void (*const prepare)(void);

// Is it no error? Where it is one, it is one that can be now.
bool fine(long r);
// Has a call been made to fail by now?
bool spoiled(void);
// Did the scenario see an error?
bool failed(void);
// fin_close has failed: unless that was close itself, the descriptor is still there.
void close_again(int fd);
// Is it fine, of a function that says why in errno.
static inline bool fine_errno(long r) { return fine(r < 0 ? -errno : r); }

#endif

// SPDX-License-Identifier: BSD-2-Clause
// Counters of the calling thread's runtime.
#ifndef FIN_STATS_H
#define FIN_STATS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fin_stats {
    uint64_t detached;        // asyncs whose body blocked, so that the owner went on without it
    uint64_t suspended;       // fin_suspend and what is built on it
    uint64_t compressed;      // AWEs that blocked with a continuation instead of a stack
    uint64_t handed_off;      // of these, whose stack went to the next AWE at once
    uint64_t recognized;      // continuations that a handoff recognized
    uint64_t woken_remotely;  // AWEs that another thread scheduled
    uint64_t slept;           // times that the thread had nothing to run
    uint64_t cancelled;       // cancel items run
    uint64_t stacks;          // stacks that exist
    uint64_t stacks_used;     // of these, not spare
    uint64_t stacks_released; // times that an idle stack's memory went back to the system
    uint64_t unguarded;       // stacks for which the system had no guard page
    uint64_t requests;        // of I/O that went into the ring's queue
    uint64_t completions;     // that came out of it, also those that no AWE waits for
    uint64_t entered;         // system calls for both
};

// Fills in the counters of the calling thread. Does not block.
void fin_stats(struct fin_stats *out);
void fin_stats_clear(void);

#ifdef __cplusplus
}
#endif
#endif

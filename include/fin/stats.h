// SPDX-License-Identifier: BSD-2-Clause
// Counters of the calling thread's runtime. With FIN_STATS=1 in the environment a program prints the counters of all its
// threads when it ends: how often AWEs blocked, for what, and whether with or without a stack (continuations, tables 1 and
// 2). The child of a fork counts from zero.
#ifndef FIN_STATS_H
#define FIN_STATS_H

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // in C++ a structure and a function have one name
#endif

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fin_runtime;

// What AWEs wait for.
enum fin_reason {
    FIN_FOR_PROGRAM, // what the program itself decides: fin_suspend, fin_block_on, the handoffs
    FIN_FOR_TURN,    // fin_yield, fin_yield_on; and the turn that an AWE without a stack, having found nothing to wait for,
                     // gives to others before it goes on. Other yields with a stack are in `switches` only
    FIN_FOR_FINISH,  // the end of a finish block
    FIN_FOR_SYNC,    // fin/sync.h
    FIN_FOR_IO,      // also an operation that was done at once, which io_uring does not tell
    FIN_FOR_TIME,    // sleep
    FIN_FOR_MESSAGE, // of a channel, for room in one, for an answer, for an event of a waitset
    FIN_FOR_LOOK,    // not a block: a turn that an AWE gave to others while it checked whether it had to wait for a message
    FIN_REASONS
};

// These count as recognized (continuations 2.1):
//
// - a handoff to a continuation that the caller knew (fin_thread_handoff_if);
// - a message that was put where the receiver wants it (fin/chan_on.h): by its sender, on the same thread, or by the
//   receiver's thread when it heard that another thread or process had sent it;
// - the end of an I/O request (fin/on.h), if what a blocked function would do on going on was done before the continuation
//   was called: sending what was to wait for its time, trying again, taking over the descriptor or the buffer;
// - an answer or a request that its sender, or the AWE that read it, put where the waiter wants it, and a request that
//   fin_rpc_serve_on waited for, if they began the work on it (fin/rpc_on.h).
//
// Not counted: the end of a wait for a timer, readiness or a sync object, after which there is nothing to do. While a trace
// is on (fin/trace.h) messages and requests are not recognized: each receiver is to be seen running.
struct fin_blocks {
    uint64_t with_stack;
    uint64_t with_continuation; // and without a stack
    uint64_t handed_off;        // of these, those whose stack went to the next AWE at once
    uint64_t recognized;        // of those with a continuation, those whose work was done by whoever ended the wait, because
                                // it knew what they waited with: see above
};

struct fin_stats {
    uint64_t detached;        // asyncs whose body blocked, so that the owner went on without it
    uint64_t suspended;       // fin_suspend and what is built on it
    uint64_t compressed;      // AWEs that blocked with a continuation instead of a stack, without FIN_FOR_LOOK
    uint64_t handed_off;      // of these, those whose stack went to the next AWE at once
    uint64_t recognized;      // of those compressed, those whose work was done by whoever ended the wait
    uint64_t switches;        // times that an AWE was resumed
    uint64_t woken_remotely;  // AWEs that another thread scheduled
    uint64_t slept;           // times that the thread had nothing to run
    uint64_t cancelled;       // cancel items run
    uint64_t stacks;          // stacks that exist
    uint64_t stacks_used;     // of these, not spare; one is the runtime's own
    uint64_t stacks_most;     // the largest of the samples of stacks_used,
    uint64_t stacks_sum;      // their sum,
    uint64_t stacks_samples;  // and how many: one at each look for events
    uint64_t stacks_released; // times that an idle stack's memory went back to the system
    uint64_t unguarded;       // stacks for which the system had no guard page
    uint64_t requests;        // of I/O that went into the ring's queue
    uint64_t completions;     // that came out of it, including those that no AWE waits for
    uint64_t entered;         // system calls for both; a request alone in the queue may be made without the ring
    struct fin_blocks blocks[FIN_REASONS];
};

// Fills in the counters of the calling thread. Does not block.
void fin_stats(struct fin_stats *out);
void fin_stats_clear(void);

// The place from which fin-top looks into a process; not for programs.
extern const struct fin_look_ {
    struct fin_runtime **runtimes;
    struct {
        char name[28];
        uint32_t value;
    } entries[];
} fin_look_;

#ifdef __cplusplus
}
#endif
#endif

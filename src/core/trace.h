// SPDX-License-Identifier: BSD-2-Clause
// What the core and the rooms above it tell a trace; src/host/linux/trace.c keeps it. A traced thread looks for work at
// each switch (`turn` is 1), so that the fast paths, which stop where it is time for that, need not know of tracing; the
// slow ones test `watched`, which also says that a sanitizer follows.
#ifndef FIN_CORE_TRACE_H
#define FIN_CORE_TRACE_H

#include "core/runtime.h"

void fin_trace_begin(struct fin_runtime *rt);                           // a thread begins
void fin_trace_blocked(struct fin_runtime *rt, struct fin_body *body);  // its async was pending; the owner goes on next
void fin_trace_goes_on(struct fin_runtime *rt, const void *sp);         // there, where `current` and `body` of rt are
void fin_trace_idle(void);                                              // the scheduler runs, or the thread ends
void fin_trace_resumes(struct fin_runtime *rt, const struct fin_awe *a);
void fin_trace_woken(struct fin_runtime *rt, const struct fin_awe *a); // rt: of the caller, or NULL
void fin_trace_looks(struct fin_runtime *rt); // for events, and whether it is to be traced
void fin_trace_looked(const struct fin_runtime *rt, const struct fin_link *last); // who is queued behind it goes on by them
void fin_trace_cancelled(void);
void fin_trace_message(bool sent, uint64_t id, uint64_t position); // the pair is the same on both sides

static inline bool fin_traced(const struct fin_runtime *rt) { return FIN_UNLIKELY(rt->watched & FIN_WATCHED_TRACE); }
extern bool fin_trace_on __attribute__((visibility("hidden"))); // in any thread
// One may begin or end at any time. Compilers make one instruction more of an atomic load of a byte, where a plain one does.
static inline bool fin_trace_is_on(void) {
#if FIN_SANITIZED
    return __atomic_load_n(&fin_trace_on, __ATOMIC_RELAXED);
#else
    return fin_trace_on;
#endif
}

// Called where a trace begins, if it is set: by the room whose fast paths look at fin_trace_on only now and then.
extern void (*fin_trace_begins)(void) __attribute__((visibility("hidden")));

#endif

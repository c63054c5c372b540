// SPDX-License-Identifier: BSD-2-Clause
#ifndef FIN_BENCH_CONT_ROWS_H
#define FIN_BENCH_CONT_ROWS_H

#include <stdlib.h>

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

// Fork: before anything of Fin is used.
void far_begin(void);
void service_begin(void);

void table_calls(void);
void table_rpc(void);
// One row of those two tables, n calls, for callgrind. False: there is none of that name.
bool calls_only(const char *row, long n);
bool rpc_only(const char *row, long n);
void table_blocks(void);
void table_idle(void);

// lock_step.c: the two processes of such a row have turns, given at each so many-th call of sched_yield(); with 0 they have
// none, each computes and sleeps when it likes. Time stands still in both.
void lock_step_begin(int each);
void lock_step_child(void);
void lock_step_end(void);
bool lock_step_turn(void); // gives one. False: there are none
// Somebody computes, so long that who waits for it sleeps. PAUSE_NS of it; where instructions are counted, none, and longer.
enum { PAUSE_NS = 100000 };
void lock_step_pause(void);

// n coroutines that wait at that depth of calls; all are resumed once. Defined in coroutine.cpp.
void coroutines_wait(long n, int depth);
void coroutines_wake(void);

#ifdef __cplusplus
}
#endif
#endif

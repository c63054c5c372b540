// SPDX-License-Identifier: BSD-2-Clause
#ifndef FIN_BENCH_CONT_ROWS_H
#define FIN_BENCH_CONT_ROWS_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

void calls_begin(void); // forks: first of all
void table_calls(void);
void table_rpc(void);
// One row of those two tables, n calls, for callgrind. False: there is none of that name.
bool calls_only(const char *row, long n);
bool rpc_only(const char *row, long n);
// lock_step.c: the two processes of such a row have turns, given at each so many-th call of sched_yield().
void lock_step_begin(int each);
void lock_step_child(void);
void lock_step_end(void);
void table_blocks(void);
void table_idle(void);

// n coroutines that wait at that depth of calls; all are resumed once. Defined in coroutine.cpp.
void coroutines_wait(long n, int depth);
void coroutines_wake(void);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: BSD-2-Clause
#ifndef FIN_BENCH_CONT_ROWS_H
#define FIN_BENCH_CONT_ROWS_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

void table_rpc(void);
void table_blocks(void);
void table_idle(void);

// n coroutines that wait at that depth of calls; all are resumed once. Defined in coroutine.cpp.
void coroutines_wait(long n, int depth);
void coroutines_wake(void);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: BSD-2-Clause
// The repetitions that the tables consist of: cycles per operation, over n operations.
#ifndef FIN_BENCH_ROWS_H
#define FIN_BENCH_ROWS_H

#include "../bench.h"

#ifdef __cplusplus
extern "C" {
#endif

void bench_body(void *); // does nothing that a compiler knows of

// async.c, async_nested.c, async_lambda.cpp: an async whose body does not block, in a finish block around all
double async_plain(long n), async_call(long n), async_eager_call(long n);
double async_nested(long n), async_eager_nested(long n);
double async_lambda(long n), async_eager_lambda(long n), async_call_cpp(long n);

// create.c and the same two: finish + async + one yield + completion
double create_call(long n), create_eager_call(long n), create_yield_to(long n), create_eager_yield_to(long n);
double create_nested(long n), create_lambda(long n);

// switch.c
double switch_yield(long n), switch_yield_to(long n), switch_yield_to_id(long n), switch_yield_to_id_and_save(long n);
double switch_no_dispatch(long n);

// sync.c
double sync_posix_lock(long n), sync_lock(long n), sync_posix_post(long n), sync_post(long n);
double sync_lock_handed(long n), sync_round_trip(long n), sync_round_trip_threads(long n);
double sync_posix_round_trip_threads(long n), sync_lock_threads(long n), sync_posix_lock_threads(long n);

enum { RING = 10000 }; // AWEs, or stacks, beside the caller

// minimal.c
double minimal_two(long n), minimal_ring(long n), minimal_ring_staggered(long n);

// fcontext.cpp, coroutine.cpp
extern const bool have_fcontext;
double fcontext_two(long n), fcontext_create_2(long n), fcontext_create_4(long n);
double coroutine_create(long n);

void table_async(void), table_create(void), table_switch(void), table_sync(void), table_ring(void);
void table_million(void);
// The program run as its own rival: `fin-bench-core million N` and `spawn N`.
int million_child(int argc, char **argv);
void table_micro(void), table_extensions(void);

#ifdef __cplusplus
}
#endif
#endif

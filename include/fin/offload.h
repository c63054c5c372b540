// SPDX-License-Identifier: BSD-2-Clause
// Code that blocks its thread - a database client, a compressor, a resolver - on a thread of its own.
#ifndef FIN_OFFLOAD_H
#define FIN_OFFLOAD_H

#include <fin/finish.h>

#ifdef __cplusplus
extern "C" {
#endif

// Runs fn(arg) on a thread of the pool that all threads of the process share; only the calling AWE waits. Returns 0 when fn
// has returned; what it wrote is then visible. Where all threads are busy the call waits its turn, first come first served.
// Cancellable until fn begins: -ECANCELED means that fn did not run and will not. Once it has begun the call waits for its
// end, since fn may use the caller's variables. -EAGAIN or -ENOMEM: the system gives no thread and there is none, fn did not
// run; -EMFILE, -ENFILE or -ENOMEM: see fin/io.h. From any thread.
//
// fn is not on the caller's thread: its thread-local variables are others, it may run in parallel with the caller's other
// AWEs, and fin_cancel is not for it. It must return (no pthread_exit, no longjmp out of it, no C++ exception: fin.hpp has
// fin::offload). Signals are blocked there, but for those of faults. A thread that ends waits for what it has begun. The
// child of a fork has a pool of its own: what its parent had begun or queued does not go on there.
FIN_BLOCKING int fin_offload(void (*fn)(void *), void *arg);
FIN_BLOCKING int fin_offload_nc(void (*fn)(void *), void *arg);

// Sets how many threads the pool has at most, 1 to 4096; with 0 only asks. Returns what it was: 32, or what the environment
// variable FIN_OFFLOAD_THREADS says; -EINVAL beyond that; -ENOMEM. Threads start when there is work for them and end after
// five seconds without, or where they are too many, with what they are at. Does not block. From any thread.
int fin_offload_threads(unsigned most);

#ifdef __cplusplus
}
#endif
#endif

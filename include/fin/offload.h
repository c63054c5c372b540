// SPDX-License-Identifier: BSD-2-Clause
// Code that blocks its thread - a database client, a compressor, a resolver - on a thread of its own.
#ifndef FIN_OFFLOAD_H
#define FIN_OFFLOAD_H

#include <fin/finish.h>

#ifdef __cplusplus
extern "C" {
#endif

// Runs fn(arg) on a thread of the pool that all threads of the process share; only the calling AWE waits. Returns 0 when fn
// has returned; what fn wrote is then visible. If all threads are busy the call waits its turn, first come first served.
// (fin_offload_on, in fin/on.h, waits without a stack.)
// Cancellable until fn begins: -ECANCELED means that fn did not run and will not. Once fn has begun the call waits for its
// end, since fn may use the caller's variables. -EAGAIN or -ENOMEM: the pool has no thread and the system gives it none, fn
// did not run; -EMFILE, -ENFILE or -ENOMEM: see fin/io.h. From any thread.
//
// fn does not run on the caller's thread: it has other thread-local variables, it may run in parallel with the caller's
// other AWEs, and fin_cancel is not for it. It must return (no pthread_exit, no longjmp out of it; a C++ exception that
// leaves it ends the program, by std::terminate: fin.hpp has fin::offload). It may call Fin; but where all threads of the
// pool run functions that wait for the pool themselves (fin_offload, or calls of fin/file.h that are made there) none of
// them goes on. Signals are blocked there, except those of faults. A thread that ends waits for the calls that the pool has
// begun for it. The child of a fork has a pool of its own: what its parent had begun or queued does not go on there, and
// -ECANCELED is what a cancel makes of it in the child, also where fn had begun. A child that fn itself has forked ends,
// by exit(3), when fn has returned there and the threads are over that it has made; one of the child's pool is idle for some
// seconds first.
FIN_BLOCKING int fin_offload(void (*fn)(void *), void *arg);
FIN_BLOCKING int fin_offload_nc(void (*fn)(void *), void *arg);

// Sets how many threads the pool has at most, 1 to 4096; with 0 only asks. Returns the value before: at first 32, or what
// the environment variable FIN_OFFLOAD_THREADS says; -EINVAL for more than 4096; -ENOMEM. Threads start when there is work
// for them. They end after five seconds without work or, if there are too many of them, when they have finished what they
// are doing. Does not block. From any thread.
int fin_offload_threads(unsigned most);

#ifdef __cplusplus
}
#endif
#endif

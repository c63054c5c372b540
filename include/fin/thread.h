// SPDX-License-Identifier: BSD-2-Clause
// OS threads (ac 2.1, "Integration with threads"). Each has a runtime of its own, which ends with it; AWEs never migrate.
// A thread without memory for its runtime ends the program, with a message; so does one beside 65,535 others that have one.
#ifndef FIN_THREAD_H
#define FIN_THREAD_H

#include <fin/sync.h>

#ifdef __cplusplus
extern "C" {
#endif

// The storage is the caller's, and must last until the thread has been joined.
struct fin_thread_handle {
    void (*fn)(void *);
    void *arg;
    struct fin_event ended;
    uintptr_t os;
};

// Starts an OS thread that runs fn(arg). When fn returns, all work that it started must have ended; a C++ exception that
// leaves it ends the program, by std::terminate. Does not block. Returns 0; -EAGAIN or -ENOMEM if the system refuses another
// thread.
int fin_thread_start(struct fin_thread_handle *h, void (*fn)(void *), void *arg);

// Waits until the thread has ended, including its thread-local variables and its runtime. Only the AWE waits. Has to be done
// once for each thread, from any other thread: one that waits for itself waits for ever. Returns 0; -ECANCELED, and then the
// thread goes on and can be joined later.
int FIN_BLOCKING fin_thread_join(struct fin_thread_handle *h);
void FIN_BLOCKING fin_thread_join_nc(struct fin_thread_handle *h);

#ifdef __cplusplus
}
#endif
#endif

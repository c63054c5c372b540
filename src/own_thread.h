// SPDX-License-Identifier: BSD-2-Clause
// Threads that the library starts for itself: src/host/linux/thread.c.
#ifndef FIN_OWN_THREAD_H
#define FIN_OWN_THREAD_H

#include <pthread.h>
#include <stdbool.h>

struct fin_own_thread {
    const char *name;
    void (*run)(void);
    bool of_pool; // it runs functions of the program, and may wait in them as the program's threads do
};

// Starts a detached thread; *t stays. Signals are for the program's threads, but for those that a thread's own fault raises.
// Returns 0 or -errno.
int fin_own_thread_start(const struct fin_own_thread *t);

// What a thread of the pool has been given to call, for the report of a crash in there; otherwise NULL.
extern __thread void (*fin_own_thread_calls)(void *);

// Times of the waits for *c are those of CLOCK_MONOTONIC, which nobody sets back meanwhile.
void fin_own_cond_init(pthread_cond_t *c);

// How many there are. One that is about to end is not counted any more.
unsigned fin_own_threads(void);
unsigned fin_own_threads_of_pool(void); // of these

#endif

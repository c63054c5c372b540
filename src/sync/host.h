// SPDX-License-Identifier: BSD-2-Clause
// What this room needs of the system under it, beside the core's needs; src/host/<system> has it.
#ifndef FIN_SYNC_HOST_H
#define FIN_SYNC_HOST_H

#include <fin/finish.h>

// Starts an OS thread that runs fn(arg), then, after its runtime has ended, ended(arg). Returns 0 or -errno.
int fin_host_thread_start(uintptr_t *thread, void (*fn)(void *), void (*ended)(void *), void *arg);

// Waits until nothing is left of a thread. Pre: `ended` was called; so this is short.
void fin_host_thread_reap(uintptr_t thread);

// What the report of a process that nothing can wake asks of this room, where it is linked (wait.c). Does the AWE wait for
// an object? Looks for its waiter between those addresses. Is the object a mutex that an AWE's frames hold? Then *hold is
// where that is noted. Pre: the AWE's thread sleeps; nothing else is relied on.
struct fin_sync_wait {
    const void *object;
    enum { FIN_SYNC_OTHER, FIN_SYNC_SEM, FIN_SYNC_COND, FIN_SYNC_EVENT, FIN_SYNC_QUEUE } what; // other: a mutex, say
    uint64_t until; // of an event count
};
__attribute__((weak)) bool fin_sync_waits(const struct fin_awe *a, const void *from, const void *to,
                                          struct fin_sync_wait *found);
__attribute__((weak)) bool fin_sync_is_mutex(const void *object, const void ***hold);

#endif

// SPDX-License-Identifier: BSD-2-Clause
// What this room needs of the system under it, beside the core's needs; src/host/<system> has it.
#ifndef FIN_SYNC_HOST_H
#define FIN_SYNC_HOST_H

#include <stdint.h>

// Starts an OS thread that runs fn(arg), then, after its runtime has ended, ended(arg). Returns 0 or -errno.
int fin_host_thread_start(uintptr_t *thread, void (*fn)(void *), void (*ended)(void *), void *arg);

// Waits until nothing is left of a thread. Pre: `ended` was called; so this is short.
void fin_host_thread_reap(uintptr_t thread);

#endif

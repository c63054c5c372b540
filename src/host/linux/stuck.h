// SPDX-License-Identifier: BSD-2-Clause
// The report of a process that nothing can wake: with FIN_STUCK_MS in the environment.
#ifndef FIN_HOST_STUCK_H
#define FIN_HOST_STUCK_H

#include "core/runtime.h"

void fin_stuck_begin(void);                               // once a process
void fin_stuck_thread_ends(const struct fin_runtime *rt); // own thread: reports mutexes that its AWEs leave locked

void fin_stuck_print(long ms); // waits.c: who waits for whom

#endif

// SPDX-License-Identifier: BSD-2-Clause
// The reports of a process that nothing can wake, and of AWEs that wait for one another: with FIN_STUCK_MS in the
// environment.
#ifndef FIN_HOST_STUCK_H
#define FIN_HOST_STUCK_H

#include "core/runtime.h"

void fin_stuck_begin(void);                               // once a process
void fin_stuck_thread_ends(const struct fin_runtime *rt); // own thread: reports mutexes that its AWEs leave locked

// waits.c: who waits for whom
void fin_stuck_print(long ms);
uint64_t fin_stuck_cycle(void); // of those who wait for one another, not told yet, as a number that stands for it; or 0
void fin_stuck_forget(void); // no cycle that was told is there any more
void fin_stuck_print_cycle(long ms); // tells the one just found, and who waits for those in it

#endif

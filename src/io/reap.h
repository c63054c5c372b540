// SPDX-License-Identifier: BSD-2-Clause
#ifndef FIN_IO_REAP_H
#define FIN_IO_REAP_H

#include <fin/process.h>

// Reaps a process that has ended; waits for that unless flags is WNOHANG. Returns 1 when it has; 0 where it has not ended;
// -ECHILD where somebody else reaped it. A process without a descriptor is reaped by its number.
int fin_reap(const struct fin_process *p, int *status, int flags);

// In the child of a fork, which has not the thread that may have had the lock.
void fin_reaper_forked(void);

#endif

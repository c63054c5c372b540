// SPDX-License-Identifier: BSD-2-Clause
// For loops that wait for a store: without it the processor would have to throw away what it read ahead.
#ifndef FIN_ARCH_PAUSE_H
#define FIN_ARCH_PAUSE_H

static inline void fin_arch_pause(void) { __asm__ volatile("pause"); }

#endif

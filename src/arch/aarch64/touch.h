// SPDX-License-Identifier: BSD-2-Clause
// How a processor gets the next lines of a ring from the one that has read them.
#ifndef FIN_ARCH_TOUCH_H
#define FIN_ARCH_TOUCH_H

#include <stdbool.h>

// By a store to each, some of them in a row, before they are filled; or else by prefetches.
static inline bool fin_arch_touches(void) { return false; }

#endif

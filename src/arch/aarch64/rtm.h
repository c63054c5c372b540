// SPDX-License-Identifier: BSD-2-Clause
// There are no transactions on this machine.
#ifndef FIN_ARCH_RTM_H
#define FIN_ARCH_RTM_H

#include <stdbool.h>

#define FIN_RTM_STARTED (~0u)
#define FIN_RTM_CONFLICT (1u << 2) // in the status: another processor asked for a line

static inline unsigned fin_rtm_begin(void) { return 0; }
static inline void fin_rtm_commit(void) {}
static inline void fin_rtm_abort(void) {}
static inline bool fin_rtm_works(void) { return false; }

#endif

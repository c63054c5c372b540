// SPDX-License-Identifier: BSD-2-Clause
// Transactions (htm 2.1.1). An abort goes on behind fin_rtm_begin, with what memory and registers were there.
#ifndef FIN_ARCH_RTM_H
#define FIN_ARCH_RTM_H

#include <cpuid.h>
#include <stdbool.h>

#define FIN_RTM_STARTED (~0u)
#define FIN_RTM_CONFLICT (1u << 2) // in the status: another processor asked for a line

static inline unsigned fin_rtm_begin(void) {
    unsigned status = FIN_RTM_STARTED;
    __asm__ volatile(".byte 0xc7, 0xf8, 0, 0, 0, 0" : "+a"(status) : : "memory"); // xbegin to the next instruction
    return status;
}
static inline void fin_rtm_commit(void) { __asm__ volatile(".byte 0x0f, 0x01, 0xd5" : : : "memory"); } // xend
static inline void fin_rtm_abort(void) { __asm__ volatile(".byte 0xc6, 0xf8, 1" : : : "memory"); }     // xabort 1

// Microcode may have every transaction abort.
static inline bool fin_rtm_works(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & 1 << 11))
        return false;
    for (int i = 0; i < 100; i++)
        if (fin_rtm_begin() == FIN_RTM_STARTED) {
            fin_rtm_commit();
            return true;
        }
    return false;
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// How a processor gets the next lines of a ring from the one that has read them.
#ifndef FIN_ARCH_TOUCH_H
#define FIN_ARCH_TOUCH_H

#include <cpuid.h>
#include <stdbool.h>

// By a store to each, some of them in a row, before they are filled; or else by prefetches. Seen on a Zen 4 of AMD: its
// stores wait for their lines in order, few at a time, and while they do prefetches for writing have no effect.
static inline bool fin_arch_touches(void) {
    unsigned a, b, c, d;
    __cpuid(0, a, b, c, d);
    return b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
}

#endif

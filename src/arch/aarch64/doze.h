// SPDX-License-Identifier: BSD-2-Clause
// A processor that stops until somebody stores to a line of memory: wfet, where the exclusive monitor watches it. Not wfe,
// which may stop for as long as nothing happens.
#ifndef FIN_ARCH_DOZE_H
#define FIN_ARCH_DOZE_H

#include <stdint.h>
#include <sys/auxv.h>

enum fin_doze { FIN_DOZE_NOT, FIN_DOZE_WFET };

static inline enum fin_doze fin_arch_doze_kind(void) {
    return getauxval(AT_HWCAP2) & 1ul << 31 ? FIN_DOZE_WFET : FIN_DOZE_NOT; // HWCAP2_WFXT
}

static inline const char *fin_arch_doze_name(enum fin_doze kind) { return kind == FIN_DOZE_WFET ? "wfet" : ""; }

// From here on a store to the line ends the next doze, or keeps it from beginning.
static inline void fin_arch_watch(enum fin_doze kind, const void *line) {
    uint64_t word;
    (void)kind;
    __asm__ volatile("ldaxr %0, [%1]" : "=r"(word) : "r"(line) : "memory");
}

// Stops until then, for some microseconds at most; it may end sooner.
static inline void fin_arch_doze(enum fin_doze kind) {
    uint64_t now, second;
    (void)kind;
    __asm__ volatile("mrs %0, cntvct_el0\n\tmrs %1, cntfrq_el0" : "=r"(now), "=r"(second));
    register uint64_t until __asm__("x0") = now + second / 250000;
    __asm__ volatile(".inst 0xd5031000" : : "r"(until) : "memory"); // wfet x0
}

#endif

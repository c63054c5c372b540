// SPDX-License-Identifier: BSD-2-Clause
// A processor that stops until somebody stores to a line of memory: umwait (WAITPKG, Intel), mwaitx (AMD).
#ifndef FIN_ARCH_DOZE_H
#define FIN_ARCH_DOZE_H

#include <cpuid.h>
#include <stdint.h>

enum fin_doze { FIN_DOZE_NOT, FIN_DOZE_UMWAIT, FIN_DOZE_MWAITX };
enum { FIN_DOZE_TICKS = 10000 }; // of the time stamp counter, at most

static inline enum fin_doze fin_arch_doze_kind(void) {
    unsigned a, b, c, d;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && c & 1u << 5)
        return FIN_DOZE_UMWAIT;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && c & 1u << 29 ? FIN_DOZE_MWAITX : FIN_DOZE_NOT;
}

static inline const char *fin_arch_doze_name(enum fin_doze kind) { return kind == FIN_DOZE_UMWAIT ? "umwait" : "mwaitx"; }

// From here on a store to the line ends the next doze, or keeps it from beginning.
static inline void fin_arch_watch(enum fin_doze kind, const void *line) {
    if (kind == FIN_DOZE_UMWAIT)
        __asm__ volatile(".byte 0xf3, 0x0f, 0xae, 0xf0" : : "a"(line) : "memory"); // umonitor rax
    else
        __asm__ volatile(".byte 0x0f, 0x01, 0xfa" : : "a"(line), "c"(0), "d"(0) : "memory"); // monitorx
}

// Stops until then, for FIN_DOZE_TICKS at most; it may end sooner.
static inline void fin_arch_doze(enum fin_doze kind) {
    if (kind == FIN_DOZE_UMWAIT) {
        uint64_t until = __builtin_ia32_rdtsc() + FIN_DOZE_TICKS;
        unsigned shallow = 1;                           // C0.1: the one that ends sooner
        __asm__ volatile(".byte 0xf2, 0x0f, 0xae, 0xf1" // umwait ecx
                         :
                         : "c"(shallow), "a"((uint32_t)until), "d"((uint32_t)(until >> 32))
                         : "cc", "memory");
    } else {
        unsigned no_sleep = 0xf0, timed = 2;
        __asm__ volatile(".byte 0x0f, 0x01, 0xfb" : : "a"(no_sleep), "c"(timed), "b"(FIN_DOZE_TICKS) : "memory"); // mwaitx
    }
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// In place of src/arch/*/doze.h: a processor that can wait for a store, on one that cannot. What the test is told: which
// line is watched, and whether it changed between that and the doze, which then must not begin.
#ifndef FIN_ARCH_DOZE_H
#define FIN_ARCH_DOZE_H

#include <stdint.h>

enum fin_doze { FIN_DOZE_NOT, FIN_DOZE_STAND_IN };

static struct {
    const uint64_t *line;
    uint64_t word;
    unsigned watched, dozed, kept_awake;
    void (*watching)(void); // right after the watch begins
    void (*dozing)(void);
} doze;

static inline enum fin_doze fin_arch_doze_kind(void) { return FIN_DOZE_STAND_IN; }
static inline const char *fin_arch_doze_name(enum fin_doze kind) { return kind == FIN_DOZE_NOT ? "" : "stand-in"; }

static inline void fin_arch_watch(enum fin_doze kind, const void *line) {
    (void)kind;
    doze.line = line;
    doze.word = __atomic_load_n(doze.line, __ATOMIC_ACQUIRE);
    doze.watched++;
    if (doze.watching)
        doze.watching();
}

static inline void fin_arch_doze(enum fin_doze kind) {
    (void)kind;
    if (__atomic_load_n(doze.line, __ATOMIC_ACQUIRE) != doze.word) {
        doze.kept_awake++;
        return;
    }
    doze.dozed++;
    if (doze.dozing)
        doze.dozing();
}

#endif

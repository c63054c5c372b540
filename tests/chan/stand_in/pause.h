// SPDX-License-Identifier: BSD-2-Clause
// In place of src/arch/*/pause.h: while a loop waits for a store, another thread has done something.
#ifndef FIN_ARCH_PAUSE_H
#define FIN_ARCH_PAUSE_H

static void (*at_pause)(void);

static inline void fin_arch_pause(void) {
    if (at_pause)
        at_pause();
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// The second part of a wait: after some looks, before the thread sleeps in the kernel.
#include <stdlib.h>

#include <fin/chan.h>

#include "chan/wait.h"
#include "doze.h"

enum { DOZES = 4 }; // each may end for nothing

static enum fin_doze kind_here(void) {
    static int known; // 1 plus the kind; a race writes the same value
    int k = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (k == 0) {
        const char *wish = getenv("FIN_DOZE");
        k = 1 + (wish && wish[0] == '0' ? FIN_DOZE_NOT : fin_arch_doze_kind());
        __atomic_store_n(&known, k, __ATOMIC_RELAXED);
    }
    return (enum fin_doze)(k - 1);
}

// First the line is watched, then looked at: a message that comes between ends the doze. A look may go on to another line.
// (models/chan.pml)
bool fin_ump_doze(struct ump_rx *rx) {
    enum fin_doze kind = kind_here();
    for (int i = 0; kind != FIN_DOZE_NOT && i < DOZES; i++) {
        const char *line = ump_line(rx->ring, rx->tail, rx->lines);
        fin_arch_watch(kind, line);
        if (ump_look(rx) != 0)
            return true;
        if (line == ump_line(rx->ring, rx->tail, rx->lines))
            fin_arch_doze(kind);
    }
    return false;
}

const char *fin_chan_backend(void) { return kind_here() == FIN_DOZE_NOT ? "looks" : fin_arch_doze_name(kind_here()); }

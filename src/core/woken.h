// SPDX-License-Identifier: BSD-2-Clause
// When the calling thread last slept, or looked for events, for who looks now and then at what costs a system call.
#ifndef FIN_CORE_WOKEN_H
#define FIN_CORE_WOKEN_H

#include <stdint.h>

#include "core/host.h"

// fin_host_ms() then, or as it was asked for; before it is, FIN_WOKEN_UNASKED, and nothing is dated.
#define FIN_WOKEN_UNASKED UINT64_MAX
extern __thread uint64_t fin_woken_at __attribute__((tls_model("initial-exec")));

static inline uint64_t fin_woken_ask(void) {
    if (fin_woken_at == FIN_WOKEN_UNASKED)
        fin_woken_at = fin_host_ms();
    return fin_woken_at;
}

static inline void fin_woken(void) {
    if (fin_woken_at != FIN_WOKEN_UNASKED)
        fin_woken_at = fin_host_ms();
}

#endif

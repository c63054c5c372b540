// SPDX-License-Identifier: BSD-2-Clause
// FIN_HELD_MS: a thread that takes no signal sees that it is asked who holds it.
#ifndef FIN_TESTS_CORE_ASKED_H
#define FIN_TESTS_CORE_ASKED_H

#include <signal.h>

#include "process.h"

static inline void wait_for_byte(int fd) {
    char c;
    CHECK_EQ(read(fd, &c, 1), 1);
}

static inline bool is_asked(void) {
    sigset_t pending;
    sigpending(&pending);
    for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
        if (sigismember(&pending, i) == 1)
            return true;
    return false;
}

#endif

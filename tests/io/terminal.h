// SPDX-License-Identifier: BSD-2-Clause
// Needs _GNU_SOURCE.
#ifndef FIN_TESTS_IO_TERMINAL_H
#define FIN_TESTS_IO_TERMINAL_H

#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>

#include "check.h"

// The other side of a pseudo-terminal, which changes nothing that goes through it.
static inline int raw_terminal(int master, int flags) {
    struct termios t;
    CHECK_EQ(grantpt(master), 0);
    CHECK_EQ(unlockpt(master), 0);
    int fd = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC | flags);
    CHECK(fd >= 0);
    CHECK_EQ(tcgetattr(fd, &t), 0);
    cfmakeraw(&t);
    CHECK_EQ(tcsetattr(fd, TCSANOW, &t), 0);
    return fd;
}

#endif

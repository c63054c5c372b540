// SPDX-License-Identifier: BSD-2-Clause
// A process that is stopped and goes on while it waits.
#ifndef FIN_TESTS_IO_STOPS_H
#define FIN_TESTS_IO_STOPS_H

#include "net.h"

// `waits` runs in a child: it begins what waits, writes a byte to `tell`, and is stopped `stops` times, with pauses before
// each. When a byte comes from `told` it lets all go on, and returns.
static inline void stop_while(void (*waits)(int told, int tell), int stops, useconds_t pause) {
    int there[2], back[2];
    char c;
    CHECK_EQ(pipe(there), 0);
    CHECK_EQ(pipe(back), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        waits(there[0], back[1]);
        _exit(0);
    }
    close(back[1]);
    CHECK_EQ(read(back[0], &c, 1), 1);
    for (int i = 0; i < stops; i++) {
        usleep(pause);
        stop_and_continue(child);
    }
    CHECK_EQ(write(there[1], "x", 1), 1);
    ended_well(child);
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// A program that closes all descriptors, the library's too, is told so: it neither hangs nor spins.
#define _GNU_SOURCE
#include <fin.h>

#include "net.h"
#include "process.h"

static void close_all(void) {
    alarm(20);
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    fin_sleep(3600 * FIN_S);
}

int main(void) {
    char text[1000];
    CHECK_EQ(killed_by(close_all, text, sizeof text), SIGABRT);
    CHECK(strstr(text, "has closed a descriptor that is not its own"));
    return 0;
}

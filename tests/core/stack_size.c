// SPDX-License-Identifier: BSD-2-Clause
// FIN_STACK_SIZE is a number of bytes, or the program is told that it is none.
#include <fin.h>

#include "process.h"

static const char *value;

static void uses_a_stack(void) {
    setenv("FIN_STACK_SIZE", value, 1);
    fin_finish {
        fin_yield();
    }
}

int main(void) {
    static const char *const bad[] = {"", " 65536", "-1", "+1", "64k", "99999999999999999999", "1073741825"};
    static const char *const good[] = {"0", "65536", "0x10000", "100000"};
    char text[1000];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        value = bad[i];
        CHECK_EQ(killed_by(uses_a_stack, text, sizeof text), SIGABRT);
        CHECK(strstr(text, "FIN_STACK_SIZE is not a number of bytes"));
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        value = good[i];
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            uses_a_stack();
            return 0;
        }
        ended_well(child);
    }
    return 0;
}

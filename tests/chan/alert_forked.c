// SPDX-License-Identifier: BSD-2-Clause
// The same in the child of a fork, whose parent has used Fin before: alerts go to the child's thread.
#define main alerts
#include "alert.c" // NOLINT
#undef main

int main(void) {
    int status;
    fin_finish {
        fin_yield();
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(50);
        return alerts();
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

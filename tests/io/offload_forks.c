// SPDX-License-Identifier: BSD-2-Clause
// What the pool runs forks, and returns in the child as well: there its thread ends, and with it the process; nothing is
// done for those who wait, who are the parent's.
#include <sys/wait.h>

#include "net.h"

static void forks(void *pid) { *(pid_t *)pid = fork(); }

int main(void) {
    for (int i = 0; i < 4; i++) {
        pid_t pid = -1;
        int status;
        CHECK_EQ(fin_offload(forks, &pid), 0);
        CHECK(pid > 0);
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 0);
    }
    return 0;
}

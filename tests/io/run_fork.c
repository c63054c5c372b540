// SPDX-License-Identifier: BSD-2-Clause
// The child of a fork cancels a fin_run of its parent's: that ends in the child, and the program, which is the parent's,
// goes on.
#define _GNU_SOURCE
#include <fcntl.h>

#include <fin/process.h>

#include "net.h"

static int words[2];
static char said[8];
static ssize_t result;
static int status;

static void run_it(void *unused) {
    const char *const argv[] = {"sh", "-c", "cat <&3", NULL};
    const struct fin_spawn_fd fd = {3, words[0]};
    (void)unused;
    result = fin_run(&(struct fin_spawn){.path = "sh", .argv = argv, .fds = &fd, .fd_count = 1}, NULL, 0, said, sizeof said,
                     &status);
}

int main(void) {
    pid_t child;
    CHECK_EQ(pipe2(words, O_CLOEXEC), 0);
    fin_finish {
        fin_async_eager_call(run_it, NULL);
        child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            fin_cancel();
        } else {
            CHECK_EQ(waitpid(child, &status, 0), child);
            CHECK_EQ(status, 0);
            CHECK_EQ(write(words[1], "hi", 2), 2);
            close(words[1]);
        }
    }
    if (child == 0) {
        CHECK_EQ(result, -ECANCELED);
        _exit(0);
    }
    CHECK_EQ(result, 2);
    CHECK_EQ(status, 0);
    return 0;
}

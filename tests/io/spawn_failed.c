// SPDX-License-Identifier: BSD-2-Clause
// The handle of what could not be started is none of any process: also when its descriptor's number is another process's by
// now.
#include "child.h"

static void is_none(struct fin_process *p) {
    CHECK_EQ(fin_kill(p, SIGKILL), -ESRCH);
    CHECK_EQ(fin_wait(p, NULL), -ECHILD);
    CHECK_EQ(fin_abandon(p), 0);
    CHECK(p->fd < 0);
}

int main(void) {
    struct fin_process failed[3] = {{.pid = 1}, {.pid = 1}, {.pid = 1}}, runs; // and descriptor 0
    int fd[2], status;
    CHECK_EQ(pipe(fd), 0);
    int error = fin_spawn(&failed[0], &(struct fin_spawn){.path = "/nowhere/at/all", .argv = ARGV("x")});
    if (error == -ENOSYS)
        SKIP("no pidfds here");
    CHECK_EQ(error, -ENOENT);
    CHECK_EQ(fin_spawn(&failed[1], &(struct fin_spawn){.path = "/bin/true"}), -EINVAL);
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_spawn(&failed[2], &(struct fin_spawn)SHELL("exit 0")), -ECANCELED);
    }
    struct fin_spawn how = {.path = "cat", .argv = ARGV("cat"), .fds = &(struct fin_spawn_fd){0, fd[0]}, .fd_count = 1};
    CHECK_EQ(fin_spawn(&runs, &how), 0);
    for (int i = 0; i < 3; i++)
        is_none(&failed[i]);
    close(fd[0]);
    close(fd[1]);
    CHECK_EQ(fin_wait(&runs, &status), 0);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    no_child_left();
    return 0;
}

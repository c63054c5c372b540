// SPDX-License-Identifier: BSD-2-Clause
// A cancelled wait has not reaped, whenever the child ends: of each child exactly one wait learns the status. An abandoned
// one is reaped without a wait, and fin_run leaves nothing behind when cancelled.
#include "child.h"

static void cancelled_before_the_end(void) {
    static struct fin_process p;
    int status;
    CHECK_EQ(start_shell(&p, "exec sleep 1000"), 0);
    fin_finish {
        fin_async { CHECK_EQ(fin_wait(&p, NULL), -ECANCELED); };
        fin_cancel();
    }
    CHECK_EQ(fin_kill(&p, SIGTERM), 0);
    CHECK_EQ(fin_wait(&p, &status), 0);
    CHECK_EQ(WTERMSIG(status), SIGTERM);
}

static void race(int round) {
    static struct fin_process p;
    static int status, first;
    CHECK_EQ(start_shell(&p, "read x; exit 5"), 0); // at once: its descriptor 0 is at its end
    fin_finish {
        fin_async { first = fin_wait(&p, &status); };
        if (round % 4)
            CHECK_EQ(fin_sleep_nc((uint64_t)round % 8 * 200 * FIN_US), 0);
        fin_cancel();
    }
    CHECK(first == 0 || first == -ECANCELED);
    if (first != 0) {
        CHECK_EQ(fin_kill(&p, 0), 0); // nobody has reaped it
        CHECK_EQ(fin_wait(&p, &status), 0);
    }
    CHECK_EQ(WEXITSTATUS(status), 5);
    no_child_left();
}

static void cancelled_from_the_start(void) {
    struct fin_process p;
    CHECK_EQ(start_shell(&p, "exit 1"), 0);
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_wait(&p, NULL), -ECANCELED);
        CHECK_EQ(fin_wait_nc(&p, NULL), 0);
    }
}

// Its number stays until somebody reaps it.
static void wait_until_gone(pid_t pid) {
    while (kill(pid, 0) == 0)
        CHECK_EQ(fin_sleep(FIN_MS), 0);
    CHECK_EQ(errno, ESRCH);
}

static void abandoned(void) {
    struct fin_process p;
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(start_shell(&p, i % 2 ? "exit 0" : "sleep 0.02"), 0);
        CHECK_EQ(fin_abandon(&p), 0);
        CHECK_EQ(p.fd, -1);
        wait_until_gone(p.pid);
    }
    no_child_left();
}

static void cancelled_run(void) {
    static ssize_t result;
    static char output[16];
    static struct fin_spawn shell;
    shell = (struct fin_spawn)SHELL("echo $$; sleep 1000; :");
    shell.flags = FIN_SPAWN_GROUP;
    fin_finish {
        fin_async { result = fin_run(&shell, NULL, 0, output, sizeof output - 1, NULL); };
        while (!memchr(output, '\n', sizeof output))
            CHECK_EQ(fin_sleep_nc(FIN_MS), 0);
        fin_cancel();
    }
    CHECK_EQ(result, -ECANCELED);
    CHECK(kill(-atoi(output), 0) != 0 || waitpid(-1, NULL, WNOHANG) < 0);
    no_child_left();
}

int main(void) {
    cancelled_before_the_end();
    for (int i = 0; i < (getenv("FIN_FEW") ? 50 : 200); i++)
        race(i);
    cancelled_from_the_start();
    cancelled_run();
    int before = open_descriptors();
    abandoned();
    while (open_descriptors() != before + 1) // the reaper's own; it closes those of the processes after they are gone
        CHECK_EQ(fin_sleep_nc(FIN_MS), 0);
    return 0;
}

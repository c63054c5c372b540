// SPDX-License-Identifier: BSD-2-Clause
// How a child's end is told: exits, signals, before or after the wait began, many at once, with SIGCHLD ignored; abandoned.
#include "child.h"

enum { MANY = 40 };

static void ways_to_end(void) {
    struct fin_process p;
    int status;
    CHECK_EQ(start_shell(&p, "exit 7"), 0);
    CHECK_EQ(fin_wait(&p, &status), 0);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 7);
    CHECK_EQ(fin_wait(&p, &status), -ECHILD); // used up
    CHECK_EQ(fin_kill(&p, SIGKILL), -ESRCH);

    CHECK_EQ(start_shell(&p, "kill -TERM $$"), 0);
    CHECK_EQ(fin_wait(&p, &status), 0);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGTERM);

    CHECK_EQ(start_shell(&p, "exec sleep 1000"), 0);
    CHECK_EQ(fin_kill(&p, 0), 0);
    CHECK_EQ(fin_kill(&p, 12345), -EINVAL);
    CHECK_EQ(fin_kill(&p, SIGKILL), 0);
    CHECK_EQ(fin_wait_nc(&p, &status), 0);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGKILL);
}

static void dead_before_the_wait(void) {
    struct fin_process p;
    siginfo_t info;
    int status;
    CHECK_EQ(start_shell(&p, "exit 3"), 0);
    CHECK_EQ(waitid(P_PID, (id_t)p.pid, &info, WEXITED | WNOWAIT), 0);
    CHECK_EQ(fin_kill(&p, 0), 0); // a zombie is there still
    CHECK_EQ(fin_wait(&p, &status), 0);
    CHECK_EQ(WEXITSTATUS(status), 3);
}

static void many(void) {
    static int order;
    fin_finish {
        for (int i = 0; i < MANY; i++) {
            fin_async {
                struct fin_process p;
                int number = order++, status;
                char script[32];
                snprintf(script, sizeof script, "exit %d", number);
                CHECK_EQ(start_shell(&p, script), 0);
                CHECK_EQ(fin_wait(&p, &status), 0);
                CHECK_EQ(WEXITSTATUS(status), number);
            };
        }
    }
    CHECK_EQ(order, MANY);
}

static void two_wait(void) {
    static struct fin_process p;
    CHECK_EQ(start_shell(&p, "exec sleep 1000"), 0);
    fin_finish {
        fin_async { CHECK_EQ(fin_wait(&p, NULL), 0); };
        CHECK_EQ(fin_wait(&p, NULL), -EBUSY);
        CHECK_EQ(fin_abandon(&p), -EBUSY);
        CHECK_EQ(fin_kill(&p, SIGKILL), 0);
    }
}

// Their status is lost; that they have ended is not.
static void children_ignored(void) {
    struct fin_process p;
    signal(SIGCHLD, SIG_IGN);
    uint64_t before = fin_now();
    CHECK_EQ(start_shell(&p, "sleep 0.05"), 0);
    CHECK_EQ(fin_wait(&p, NULL), -ECHILD);
    CHECK(fin_now() - before >= 50 * FIN_MS);
    CHECK_EQ(p.fd, -1);
    for (int i = 0; i < 20; i++) // it may be gone before anybody asks for it
        CHECK_EQ(fin_spawn(&p, &(struct fin_spawn){.path = "/nowhere", .argv = ARGV("x")}), -ENOENT);
    signal(SIGCHLD, SIG_DFL);
}

// Whoever has the open file of an abandoned process still, as a child has until its program begins: when it has been reaped
// its number may be another file's, which is none of the reaper's business.
static void abandoned(void) {
    struct fin_process p;
    int gate[2];
    CHECK_EQ(pipe2(gate, O_CLOEXEC), 0);
    CHECK_EQ(fin_spawn(&p, &(struct fin_spawn){.path = "cat", .argv = ARGV("cat"), .fds = &(struct fin_spawn_fd){0, gate[0]},
                               .fd_count = 1}), 0);
    int number = p.fd, copy = dup(number), next;
    CHECK(copy >= 0);
    CHECK_EQ(fin_abandon(&p), 0);
    CHECK_EQ(fcntl(number, F_GETFD), FD_CLOEXEC);
    close(gate[1]);
    while (fcntl(number, F_GETFD) >= 0)
        CHECK_EQ(fin_sleep(FIN_MS), 0);
    next = dup2(gate[0], number);
    CHECK_EQ(next, number);
    CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
    CHECK_EQ(fcntl(next, F_GETFD), 0);
    close(next);
    close(copy);
    close(gate[0]);
}

int main(void) {
    ways_to_end();
    abandoned();
    int before = open_descriptors();
    dead_before_the_wait();
    many();
    two_wait();
    children_ignored();
    CHECK_EQ(open_descriptors(), before);
    no_child_left();
    return 0;
}

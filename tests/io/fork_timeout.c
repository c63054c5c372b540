// SPDX-License-Identifier: BSD-2-Clause
// A child of fork is in the blocks with a timeout that its parent was in: there they end in time, too, each at its own, and
// not before; a block that the parent has begun elsewhere is none of the child's.
#include <sys/wait.h>

#include "net.h"

#define FOREVER (3600 * FIN_S)

static int pair[2], elsewhere;
static char c;

// In the child only: the parent waits for that.
static bool forked(void) {
    pid_t pid = fork();
    int status;
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        return true;
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return false;
}

static void waits_elsewhere(void *unused) {
    (void)unused;
    fin_timeout(5 * FIN_MS) {
        elsewhere = fin_sleep(FOREVER);
    }
}

static void nested(void) {
    bool child = false;
    int inner = 1, outer = 1;
    uint64_t start = fin_now();
    fin_timeout(40 * FIN_MS) {
        fin_timeout(20 * FIN_MS) {
            child = forked();
            if (child)
                inner = (int)fin_recv(pair[0], &c, 1, 0);
        }
        if (child) {
            CHECK(fin_timed_out());
            CHECK(fin_now() - start >= 20 * FIN_MS);
            outer = (int)fin_recv(pair[0], &c, 1, 0);
        }
    }
    if (!child)
        return;
    CHECK(fin_timed_out());
    CHECK(fin_now() - start >= 40 * FIN_MS);
    CHECK_EQ(inner, -ECANCELED);
    CHECK_EQ(outer, -ECANCELED);
    _exit(0);
}

// Without any I/O of the child's own.
static void only_locks(void) {
    struct fin_sem sem = FIN_SEM_INIT(0);
    int r = 1;
    bool child = false;
    fin_timeout(20 * FIN_MS) {
        child = forked();
        if (child)
            r = fin_sem_wait(&sem);
    }
    if (!child)
        return;
    CHECK_EQ(r, -ECANCELED);
    _exit(0);
}

static void beside_others(void) {
    elsewhere = 1;
    fin_finish {
        fin_async_call(waits_elsewhere, NULL);
        if (forked()) {
            CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
            CHECK_EQ(elsewhere, 1);
            _exit(0);
        }
    }
    CHECK_EQ(elsewhere, -ECANCELED);
}

int main(void) {
    stream_pair(pair);
    nested();
    only_locks();
    beside_others();
    return 0;
}

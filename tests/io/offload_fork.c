// SPDX-License-Identifier: BSD-2-Clause
// fork with work begun and queued: in the child none of it runs, what was queued can be cancelled, and new work runs; the
// parent's goes on undisturbed.
#include <sys/wait.h>

#include "net.h"

static int ran, reading, fd[2];

static void wait_for_byte(void *arg) {
    __atomic_store_n(&reading, 1, __ATOMIC_SEQ_CST);
    CHECK_EQ(read(fd[0], arg, 1), 1);
}
static void count(void *unused) {
    (void)unused;
    __atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
}

#if ON_TSAN // which forbids threads in a child of a process that has some
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }
#endif

int main(void) {
    static char c;
    fin_shared int queued = 1;
    pid_t pid = 1;
    CHECK(fin_offload_threads(1) > 0);
    stream_pair(fd);
    fin_finish_nc {
        fin_async { CHECK_EQ(fin_offload(wait_for_byte, &c), 0); };
        while (!__atomic_load_n(&reading, __ATOMIC_SEQ_CST)) // until it has left ASan's locks
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_finish {
            fin_async { queued = fin_offload(count, NULL); };
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            pid = fork();
            if (pid == 0)
                fin_cancel();
            else
                CHECK_EQ(write(fd[1], "x", 1), 1);
        }
        if (pid == 0) {
            CHECK_EQ(queued, -ECANCELED);
            CHECK_EQ(fin_offload(count, NULL), 0);
            CHECK_EQ(ran, 1);
            _exit(7);
        }
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 7);
    CHECK_EQ(c, 'x');
    CHECK_EQ(queued, 0);
    CHECK_EQ(ran, 1);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// fork at the moment at which a function of the pool's has returned: in the child, too, its call has returned then, or is
// cancelled, wherever the pool's thread was between the two.
#include <sys/wait.h>

#include "net.h"

static int runs, turns, result;

static void work(void *unused) {
    (void)unused;
    __atomic_store_n(&runs, 1, __ATOMIC_SEQ_CST);
    for (volatile int i = 0; i < turns; i++) {
    }
}

static void forked(void) {
    pid_t pid;
    runs = 0;
    fin_finish {
        fin_async { result = fin_offload(work, NULL); };
        while (!__atomic_load_n(&runs, __ATOMIC_SEQ_CST)) {
        }
        pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            alarm(20);
            fin_cancel();
        }
    }
    CHECK(result == 0 || (pid == 0 && result == -ECANCELED));
    if (pid == 0)
        _exit(0);
    ended_well(pid);
}

int main(void) {
    if (on_valgrind())
        SKIP("what the other threads of the parent had is lost in a child: valgrind says so");
    CHECK(fin_offload_threads(1) > 0);
    for (turns = 0; turns < 20000; turns += 100)
        forked();
    return 0;
}

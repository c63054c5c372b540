// SPDX-License-Identifier: BSD-2-Clause
// Too few descriptors: an error, and neither a process nor a descriptor is left, whatever step it was that lacked one.
#include <sys/resource.h>

#include "child.h"

static void set_limit(rlim_t n) {
    struct rlimit l;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &l), 0);
    l.rlim_cur = n;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
}

int main(void) {
    struct rlimit before;
    char text[16];
    int failed = 0;
    const char *const argv[] = {"echo", "yes", NULL};
    struct fin_spawn echo = {.path = "echo", .argv = argv};
    struct fin_process first;
    if (on_valgrind())
        SKIP("valgrind keeps the limit of descriptors to itself, and does not survive a clone that fails");
    CHECK_EQ(start_shell(&first, ":"), 0); // begins the thread's I/O
    CHECK_EQ(fin_wait(&first, NULL), 0);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    int open = open_descriptors(), lowest = dup(0);
    close(lowest);
    for (int more = 0; more < 12; more++) {
        set_limit((rlim_t)(lowest + more));
        ssize_t n = fin_run(&echo, "x", 1, text, sizeof text, NULL);
        ssize_t of_nothing = fin_run(&echo, "", 0, text, sizeof text, NULL); // its input is /dev/null, which it opens
        struct fin_signals s;
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        int r = fin_signals_open(&s, &set);
        CHECK(r == 0 ? more >= 2 : r == -EMFILE);
        if (r == 0)
            fin_signals_close(&s);
        set_limit(before.rlim_cur);
        CHECK(n == 4 || n == -EMFILE);
        CHECK(of_nothing == 4 || of_nothing == -EMFILE);
        failed += n < 0;
        CHECK_EQ(open_descriptors(), open);
        no_child_left();
    }
    CHECK(failed > 0 && failed < 12);
    return 0;
}

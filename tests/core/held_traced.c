// SPDX-License-Identifier: BSD-2-Clause
// FIN_HELD_MS: also where a trace takes each switch the slow way it is seen that an AWE gave way and holds its thread again.
#include <stdlib.h>
#include <string.h>

#include <fin.h>

#include "process.h"

// It waits for the report in a system call, and so holds the thread until then.
static void holds_often(void *reports) {
    static char text[65536];
    for (int i = 0; i < 3; i++) {
        fin_yield();
        ssize_t n = read(*(int *)reports, text, sizeof text - 1);
        text[n > 0 ? n : 0] = 0;
        if (!strstr(text, "entry holds_often has held thread"))
            _exit(1);
    }
}

static void in_the_child(void *unused) {
    int reports[2];
    (void)unused;
    if (pipe(reports) != 0 || dup2(reports[1], STDERR_FILENO) < 0)
        _exit(2);
    setenv("FIN_HELD_MS", "50", 1);
    setenv("FIN_TRACE", "/dev/null", 1);
    fin_finish {
        fin_async_call(holds_often, reports);
    }
}

int main(void) {
#if defined(__linux__) && !defined(__GLIBC__)
    SKIP("this libc has no backtrace()");
#endif
    in_a_child(in_the_child, NULL);
    return 0;
}

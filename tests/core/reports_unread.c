// SPDX-License-Identifier: BSD-2-Clause
// Where stderr is a pipe that nobody reads any more, what the environment asks to be told is not told, and the program goes
// on, and ends as it would have.
#include <stdlib.h>

#include <fin.h>

#include "process.h"

static struct fin_mutex never_unlocked = FIN_MUTEX_INIT;

static void locks(void *unused) {
    (void)unused;
    fin_mutex_lock_nc(&never_unlocked);
}

static void with(void *setting) {
    struct fin_thread_handle thread;
    int ends[2];
    CHECK(pipe(ends) == 0 && close(ends[0]) == 0);
    CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    signal(SIGPIPE, SIG_DFL);
    putenv(setting);
    fin_yield();
    CHECK_EQ(fin_thread_start(&thread, locks, NULL), 0);
    fin_thread_join_nc(&thread);
    exit(0);
}

int main(void) {
    in_a_child(with, "FIN_STATS=1");
    in_a_child(with, "FIN_STUCK_MS=1000");
    in_a_child(with, "FIN_TRACE=/nowhere/trace");
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A fork while another thread begins and ends traces: the child has not that thread, nor what that had locked, and has a
// trace of its own.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fin/finish.h>
#include <fin/trace.h>

#include "check.h"
#include "process.h"

static bool stop;

static void *begins_and_ends(void *unused) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        CHECK_EQ(fin_trace_start("/dev/null"), 0);
        CHECK_EQ(fin_trace_stop(), 0);
    }
    return unused;
}

static void in_child(void) {
    alarm(60);
    fin_trace_stop();
    CHECK_EQ(fin_trace_start("/dev/null"), 0);
    CHECK_EQ(fin_trace_stop(), 0);
    _exit(0);
}

int main(void) {
    pthread_t t;
    skip_without_forks_of_threads();
    if (FIN_SANITIZED)
        SKIP("a child that another thread's malloc was forked in has ASan's locks for ever");
    CHECK_EQ(pthread_create(&t, NULL, begins_and_ends, NULL), 0);
    for (int i = 0; i < 50; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            in_child();
        ended_well(pid);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    CHECK_EQ(pthread_join(t, NULL), 0);
    return 0;
}

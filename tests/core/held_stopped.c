// SPDX-License-Identifier: BSD-2-Clause
// FIN_HELD_MS: a process that is stopped while it is asked who holds a thread, and goes on, answers then; the time that it
// stood still does not count as one in which the thread took no signal.
#include <string.h>

#include <fin.h>

#include "asked.h"

static int told[2], tell[2], reports[2];

static void holds(void *unused) {
    sigset_t all, before;
    (void)unused;
    fin_yield(); // so that it is resumed
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (!is_asked())
        usleep(100);
    CHECK_EQ(write(tell[1], "x", 1), 1);
    wait_for_byte(told[0]);
    usleep(5000); // the other one looks first
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    wait_for_byte(told[0]);
}

static void in_the_child(void) {
    alarm(60);
    CHECK_EQ(setenv("FIN_HELD_MS", "50", 1), 0);
    CHECK_EQ(dup2(reports[1], STDERR_FILENO), STDERR_FILENO);
    fin_finish {
        fin_async_call(holds, NULL);
    }
    _exit(0);
}

int main(void) {
    char text[65536];
    int status;
#if defined(__linux__) && !defined(__GLIBC__)
    SKIP("this libc has no backtrace()");
#endif
    CHECK_EQ(pipe(told), 0);
    CHECK_EQ(pipe(tell), 0);
    CHECK_EQ(pipe(reports), 0);
    pid_t child = fork();
    if (child == 0)
        in_the_child();
    close(reports[1]);
    close(tell[1]);
    wait_for_byte(tell[0]);
    CHECK_EQ(kill(child, SIGSTOP), 0);
    CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
    CHECK_EQ(write(told[1], "x", 1), 1);
    usleep(1500000); // more than the thread has to answer
    CHECK_EQ(kill(child, SIGCONT), 0);
    ssize_t n = read(reports[0], text, sizeof text - 1);
    CHECK(n > 0);
    text[n] = 0;
    CHECK_EQ(write(told[1], "x", 1), 1);
    ended_well(child);
    fprintf(stderr, "%s", text);
    CHECK(strstr(text, "has held thread"));
    CHECK(!strstr(text, "takes no signal"));
    return 0;
}

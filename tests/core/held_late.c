// SPDX-License-Identifier: BSD-2-Clause
// FIN_HELD_MS: a thread that took no signal when it was asked takes it later, while another one is asked. That is asked
// again, and reported.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include <fin.h>

#include "asked.h"

static int begin[2], go[2], gone[2], reports[2];
enum { PATIENCE_MS = 30000 };

static void set_blocked(bool blocked) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &all, NULL);
}

static void takes_it_late(void) {
    set_blocked(true);
    wait_for_byte(go[0]);
    set_blocked(false);
    CHECK_EQ(write(gone[1], "x", 1), 1);
    for (;;)
        pause();
}

static void is_asked_meanwhile(void) {
    set_blocked(true);
    while (!is_asked())
        usleep(100);
    CHECK_EQ(write(go[1], "x", 1), 1);
    wait_for_byte(gone[0]);
    set_blocked(false);
    for (;;)
        pause();
}

static void *first(void *unused) {
    fin_finish {
        fin_async { takes_it_late(); };
    }
    return unused;
}

static void in_the_child(void) {
    pthread_t t;
    alarm(60);
    CHECK_EQ(setenv("FIN_HELD_MS", "50", 1), 0);
    CHECK_EQ(dup2(reports[1], STDERR_FILENO), STDERR_FILENO);
    CHECK_EQ(pthread_create(&t, NULL, first, NULL), 0);
    wait_for_byte(begin[0]);
    fin_finish {
        fin_async { is_asked_meanwhile(); };
    }
}

static bool is_reported(const char *who) {
    static char text[65536];
    static size_t length;
    struct pollfd p = {.fd = reports[0], .events = POLLIN, .revents = 0};
    ssize_t n;
    while (!strstr(text, who) && poll(&p, 1, PATIENCE_MS) == 1 &&
           (n = read(reports[0], text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)n;
    return strstr(text, who);
}

int main(void) {
    char who[64];
    int status;
#if defined(__linux__) && !defined(__GLIBC__)
    SKIP("this libc has no backtrace()");
#endif
    CHECK(pipe(begin) == 0 && pipe(go) == 0 && pipe(gone) == 0 && pipe(reports) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        in_the_child();
        _exit(1);
    }
    CHECK(is_reported("takes no signal"));
    CHECK_EQ(write(begin[1], "x", 1), 1);
    snprintf(who, sizeof who, "has held thread %d ", child);
    CHECK(is_reported(who));
    kill(child, SIGKILL);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(WTERMSIG(status), SIGKILL);
    return 0;
}

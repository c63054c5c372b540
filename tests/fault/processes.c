// SPDX-License-Identifier: BSD-2-Clause
// Child processes: run with input and output, killed, abandoned; and a signal. No child is left.
#define _GNU_SOURCE
#include <sys/wait.h>

#include "fault.h"

static const char *const cat[] = {"cat", NULL}, *const sleeps[] = {"sleep", "1000", NULL};

static void run(void) {
    char text[16];
    int status = 0;
    ssize_t n = fin_run(&(struct fin_spawn){.path = "cat", .argv = cat}, "hello", 5, text, sizeof text, &status);
    if (fine(n)) {
        CHECK_EQ(status, 0);
        CHECK_EQ(n, 5);
        CHECK(memcmp(text, "hello", 5) == 0);
    }
}

static void kill_one(void) {
    struct fin_process p;
    int status;
    if (!fine(fin_spawn(&p, &(struct fin_spawn){.path = "sleep", .argv = sleeps, .directory = "/"})))
        return;
    if (!fine(fin_kill(&p, SIGTERM)))
        kill(p.pid, SIGTERM);
    if (fine(fin_wait(&p, &status)))
        CHECK_EQ(WTERMSIG(status), SIGTERM);
    else
        CHECK_EQ(fin_wait(&p, &status), 0);
}

static void hear_one(void) {
    struct fin_signals s;
    struct fin_signal_info i;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (!fine(fin_signals_open(&s, &set)))
        return;
    raise(SIGUSR1);
    if (fine(fin_signals_next(&s, &i)))
        CHECK_EQ(i.signal, SIGUSR1);
    fin_signals_close(&s);
}

const int threads = 0;
void (*const prepare)(void) = NULL;

void scenario(void) {
    run();
    kill_one();
    hear_one();
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_EQ(errno, ECHILD);
}

// SPDX-License-Identifier: BSD-2-Clause
// A signal that comes to the child of a fork before anything else does there has the action that it had before the sets were
// opened.
#include <pthread.h>
#include <signal.h>

#include "net.h"
#include "process.h"

static volatile sig_atomic_t handled;
static int comes;

static void count(int signal) { handled = signal; }

// Before what the library does there.
static void first_in_child(void) {
    if (comes)
        raise(comes);
}

static void child_gets(int signal, int status) {
    comes = signal;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(handled == SIGUSR1 ? 1 : 0);
    comes = 0;
    int s;
    CHECK_EQ(waitpid(child, &s, 0), child);
    CHECK_EQ(WIFSIGNALED(s) ? WTERMSIG(s) : 1000 + WEXITSTATUS(s), status);
}

int main(void) {
    struct fin_signals s;
    sigset_t set;
    CHECK_EQ(pthread_atfork(NULL, NULL, first_in_child), 0);
    signal(SIGUSR1, count);
    signal(SIGUSR2, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    CHECK_EQ(fin_signals_open(&s, &set), 0);
    child_gets(SIGTERM, SIGTERM);
    child_gets(SIGUSR1, 1001);
    child_gets(SIGUSR2, 1000);
    child_gets(0, 1000);
    fin_timeout(5 * FIN_MS) { // the parent got none
        struct fin_signal_info i;
        CHECK_EQ(fin_signals_next(&s, &i), -ECANCELED);
    }
    CHECK_EQ(handled, 0);
    fin_signals_close(&s);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Signals are read in place of their action, whichever thread they are for; several sets; the actions come back; children's
// ends are told without being reaped; real-time signals are kept each up to the limit and counted beyond it.
#include "child.h"

static sigset_t set_of(int a, int b) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, a);
    if (b)
        sigaddset(&set, b);
    return set;
}

static struct fin_signals open_set(int a, int b) {
    struct fin_signals s;
    sigset_t set = set_of(a, b);
    CHECK_EQ(fin_signals_open(&s, &set), 0);
    return s;
}

static int next_of(struct fin_signals *s) {
    struct fin_signal_info i;
    CHECK_EQ(fin_signals_next(s, &i), 0);
    return i.signal;
}

static void nothing_more(struct fin_signals *s) {
    fin_timeout(5 * FIN_MS) {
        struct fin_signal_info i;
        CHECK_EQ(fin_signals_next(s, &i), -ECANCELED);
    }
}

static void read_in_place_of_the_action(void) {
    static struct fin_signals s, t;
    s = open_set(SIGTERM, SIGUSR1);
    t = open_set(SIGTERM, 0);
    fin_finish {
        fin_async { CHECK_EQ(next_of(&s), SIGTERM); };
        kill(getpid(), SIGTERM); // would end the program
    }
    CHECK_EQ(next_of(&t), SIGTERM);
    for (int i = 0; i < 3; i++)
        raise(SIGUSR1); // are one
    CHECK_EQ(next_of(&s), SIGUSR1);
    raise(SIGUSR1);
    struct fin_signal_info i;
    CHECK_EQ(fin_signals_next_nc(&s, &i), 0);
    CHECK_EQ(i.pid, getpid());
    CHECK_EQ(i.uid, getuid());
    nothing_more(&s);
    fin_signals_close(&s);
    raise(SIGTERM); // the other set has it still
    CHECK_EQ(next_of(&t), SIGTERM);
    fin_signals_close(&t);
    fin_signals_close(&t);
    CHECK_EQ(fin_signals_next(&t, &i), -EBADF);
}

static void actions_come_back(void) {
    struct sigaction now;
    signal(SIGUSR1, SIG_IGN);
    struct fin_signals s = open_set(SIGUSR1, SIGUSR2);
    fin_signals_close(&s);
    CHECK_EQ(sigaction(SIGUSR1, NULL, &now), 0);
    CHECK(now.sa_handler == SIG_IGN);
    CHECK_EQ(sigaction(SIGUSR2, NULL, &now), 0);
    CHECK(now.sa_handler == SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
    sigset_t set = set_of(SIGUSR1, SIGSEGV);
    CHECK_EQ(fin_signals_open(&s, &set), -EINVAL);
    sigemptyset(&set);
    CHECK_EQ(fin_signals_open(&s, &set), -EINVAL);
    set = set_of(SIGUSR1, SIGKILL);
    CHECK_EQ(fin_signals_open(&s, &set), -EINVAL);
}

static void real_time(void) {
    struct fin_signals s = open_set(SIGRTMIN + 1, SIGUSR1);
    struct fin_signal_info i;
    const int most = 1024;
    for (int n = 0; n < most + 10; n++)
        CHECK_EQ(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = n}), 0);
    raise(SIGUSR1); // there is room for it
    CHECK_EQ(fin_signals_lost(&s), 10);
    for (int n = 0; n < most; n++) {
        CHECK_EQ(fin_signals_next(&s, &i), 0);
        CHECK_EQ(i.signal, SIGRTMIN + 1);
        CHECK_EQ(i.code, SI_QUEUE);
        CHECK_EQ((int)i.value, n);
    }
    CHECK_EQ(next_of(&s), SIGUSR1);
    nothing_more(&s);
    fin_signals_close(&s);
}

static void children(void) {
    struct fin_signals s = open_set(SIGCHLD, 0);
    struct fin_signal_info i;
    struct fin_process p;
    int status;
    CHECK_EQ(start_shell(&p, "exit 9"), 0);
    CHECK_EQ(fin_signals_next(&s, &i), 0);
    CHECK_EQ(i.signal, SIGCHLD);
    CHECK_EQ(i.pid, p.pid);
    CHECK_EQ(i.code, CLD_EXITED);
    CHECK_EQ(i.status, 9);
    CHECK_EQ(fin_wait(&p, &status), 0);
    CHECK_EQ(WEXITSTATUS(status), 9);
    fin_signals_close(&s);
}

static void child_of_fork(void) {
    struct fin_signals s = open_set(SIGUSR1, SIGUSR2);
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGUSR1); // as before the open: ends it
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGUSR1);
    nothing_more(&s); // it is not the parent's
    fin_signals_close(&s);
}

int main(void) {
    struct fin_signals first = open_set(SIGUSR1, 0);
    nothing_more(&first);
    fin_signals_close(&first);
    int before = open_descriptors();
    read_in_place_of_the_action();
    actions_come_back();
    real_time();
    children();
    child_of_fork();
    CHECK_EQ(open_descriptors(), before);
    return 0;
}

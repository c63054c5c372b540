// SPDX-License-Identifier: BSD-2-Clause
// Rounds by chance, each of two processes.
#ifndef FIN_TESTS_CHAN_ROUNDS_H
#define FIN_TESTS_CHAN_ROUNDS_H

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"

static unsigned seed; // of this round

#define HOLDS_OF(what, number, condition, text)                                                                             \
    do {                                                                                                                    \
        bool holds_ = (condition);                                                                                          \
        if (!holds_)                                                                                                        \
            fprintf(stderr, "seed %u, " what " %d: not so: %s\n", seed, number, text);                                      \
        CHECK(holds_);                                                                                                      \
    } while (0)

static void hangs(int unused); // the test's: says where it stands, and aborts

static pid_t start(void (*fn)(void)) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        signal(SIGALRM, hangs);
        alarm(50);
        fn();
        exit(0);
    }
    return pid;
}

// Of which the second may be killed.
static void await_both(const pid_t *pids, bool kills) {
    int status[2];
    for (int i = 0; i < 2; i++)
        CHECK_EQ(waitpid(pids[i], &status[i], 0), pids[i]);
    bool killed = kills && WIFSIGNALED(status[1]) && WTERMSIG(status[1]) == SIGKILL;
    if (status[0] != 0 || (status[1] != 0 && !killed)) {
        fprintf(stderr, "ends: FIN_SEED=%u FIN_ROUNDS=1: %x %x\n", seed, (unsigned)status[0], (unsigned)status[1]);
        exit(1);
    }
}

// FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more than usual.
static void run_rounds(unsigned usual, void (*one_round)(void)) {
    const char *first = getenv("FIN_SEED"), *many = getenv("FIN_ROUNDS");
    unsigned rounds = many ? (unsigned)atoi(many) : getenv("FIN_FEW") || on_valgrind() ? 2 : usual;
    seed = first ? (unsigned)atoi(first) : 1;
    for (unsigned round = 0; round < rounds; round++, seed++)
        one_round();
}

#endif

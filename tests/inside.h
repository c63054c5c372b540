// SPDX-License-Identifier: BSD-2-Clause
// A process forks while another thread of it is in the middle of something.
#ifndef FIN_TESTS_INSIDE_H
#define FIN_TESTS_INSIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"

static enum { NOBODY_YET, INSIDE, GOES_ON } inside;

// Where the first thread that comes is kept.
static inline void stay_inside(void) {
    int nobody = NOBODY_YET;
    if (!__atomic_compare_exchange_n((int *)&inside, &nobody, INSIDE, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return;
    while (__atomic_load_n((int *)&inside, __ATOMIC_SEQ_CST) == INSIDE)
        usleep(100);
}

static inline void *comes(void *first) {
    (*(void (**)(void))first)();
    return NULL;
}

static inline void fork_while_inside(void (*first)(void), void (*in_child)(void)) {
    pthread_t t;
    skip_without_forks_of_threads();
    CHECK_EQ(pthread_create(&t, NULL, comes, &first), 0);
    while (__atomic_load_n((int *)&inside, __ATOMIC_SEQ_CST) == NOBODY_YET)
        usleep(100);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        in_child();
        _exit(0);
    }
    ended_well(child);
    __atomic_store_n((int *)&inside, GOES_ON, __ATOMIC_SEQ_CST);
    pthread_join(t, NULL);
}

#endif

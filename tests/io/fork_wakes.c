// SPDX-License-Identifier: BSD-2-Clause
// The child of a fork makes an AWE run that is another thread's of its parent, which waits in its I/O: there is nobody to be
// woken, and nothing is written where what would wake him was.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "net.h"

enum { NUMBERS = 64 };

static struct fin_awe *suspended;
static int started;

static void *waits(void *unused) {
    fin_finish {
        fin_async {
            fin_suspend(&suspended);
            fin_cancel();
        };
        __atomic_store_n(&started, 1, __ATOMIC_SEQ_CST);
        CHECK_EQ(fin_sleep(3600 * FIN_S), -ECANCELED);
    }
    return unused;
}

// All low numbers are files of the child's.
static void in_child(void) {
    int fd[NUMBERS];
    for (int i = 0; i < NUMBERS; i++)
        CHECK((fd[i] = memfd_create("own", 0)) >= 0);
    CHECK_EQ(fin_schedule(suspended), 0);
    for (int i = 0; i < NUMBERS; i++)
        CHECK_EQ(lseek(fd[i], 0, SEEK_END), 0);
    _exit(0);
}

int main(void) {
    pthread_t t;
    skip_without_forks_of_threads();
    CHECK_EQ(pthread_create(&t, NULL, waits, NULL), 0);
    while (!__atomic_load_n(&started, __ATOMIC_SEQ_CST))
        usleep(1000);
    usleep(20000); // and it sleeps
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        in_child();
    ended_well(pid);
    CHECK_EQ(fin_schedule(suspended), 0);
    pthread_join(t, NULL);
    return 0;
}

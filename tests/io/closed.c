// SPDX-License-Identifier: BSD-2-Clause
// A program that closes all descriptors, the library's too, is told so: it neither hangs nor spins. So is one whose ring has
// lost what was done.
#define _GNU_SOURCE
#include <pthread.h>

#include "child.h"
#include "deny.h"

static struct fin_sem sem = FIN_SEM_INIT(0);

// Some of these come while the other thread sleeps.
static void *post(void *unused) {
    for (;;) {
        usleep(1000);
        fin_sem_post(&sem);
    }
    return unused;
}

static void close_all(void) {
    pthread_t t;
    alarm(60);
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    CHECK_EQ(pthread_create(&t, NULL, post, NULL), 0);
    for (;;)
        CHECK_EQ(fin_sem_wait(&sem), 0);
}

// That of the thread that reaps what nobody waits for: it finds nothing to wait with, at once or when the child has ended,
// which holds no pipe of ours.
static void close_reapers(void) {
    struct fin_process p;
    alarm(60);
    CHECK_EQ(start_shell(&p, "exec sleep 0.5 2>&-"), 0);
    int next = dup(2);
    close(next);
    CHECK_EQ(fin_abandon(&p), 0);
    CHECK_EQ(syscall(SYS_close, next), 0); // TSan would tell of close(2) beside the wait for it
    for (;;)
        pause();
}

static void lose_completions(void) {
    alarm(60);
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    deny(SYS_io_uring_enter, EBADR);
    CHECK_EQ(fin_sleep(1000 * FIN_MS), 0); // one that is over before the thread waits for it would not be told
}

static void dies_with(void (*fn)(void), const char *message) {
    char text[1000];
    CHECK_EQ(killed_by(fn, text, sizeof text), SIGABRT);
    CHECK(strstr(text, message));
}

int main(void) {
    dies_with(close_all, "has closed a descriptor that is not its own");
    dies_with(close_reapers, "nobody can reap children");
    if (!on_epoll())
        dies_with(lose_completions, "an io_uring has done, and it is lost");
    return 0;
}

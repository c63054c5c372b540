// SPDX-License-Identifier: BSD-2-Clause
// A fork while another thread, which ends, has just closed what woke it: that number is another file's by now, and the child
// leaves it open.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "net.h"
#include "process.h"

static __thread bool ends;
static sem_t closed, forked;
static int others = -1;

static bool is_eventfd(int fd) {
    char name[64], target[64] = "";
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return readlink(name, target, sizeof target - 1) > 0 && strstr(target, "[eventfd]");
}

// The library's, too. Somebody else opens a file at once, and gets the number.
int close(int fd) {
    bool wakes = ends && others < 0 && is_eventfd(fd);
    int r = (int)syscall(SYS_close, fd);
    if (!wakes)
        return r;
    int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (other != fd) {
        CHECK_EQ(dup2(other, fd), fd);
        syscall(SYS_close, other);
    }
    others = fd;
    sem_post(&closed);
    sem_wait(&forked);
    return r;
}

static void *sleeps(void *unused) {
    CHECK_EQ(fin_sleep(FIN_US), 0);
    ends = true;
    return unused;
}

int main(void) {
    pthread_t t;
    skip_without_forks_of_threads();
    alarm(60);
    sem_init(&closed, 0, 0);
    sem_init(&forked, 0, 0);
    CHECK_EQ(pthread_create(&t, NULL, sleeps, NULL), 0);
    sem_wait(&closed);
    pid_t pid = fork();
    if (pid == 0) {
        CHECK(fcntl(others, F_GETFD) >= 0);
        _exit(0);
    }
    sem_post(&forked);
    ended_well(pid);
    CHECK_EQ(pthread_join(t, NULL), 0);
    close(others);
    return 0;
}

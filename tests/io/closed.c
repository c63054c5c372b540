// SPDX-License-Identifier: BSD-2-Clause
// A program that closes all descriptors, the library's too, is told so: it neither hangs nor spins.
#define _GNU_SOURCE
#include <pthread.h>

#include <fin.h>

#include "net.h"

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

int main(void) {
    char text[1000];
    CHECK_EQ(killed_by(close_all, text, sizeof text), SIGABRT);
    CHECK(strstr(text, "has closed a descriptor that is not its own"));
    return 0;
}

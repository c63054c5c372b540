// SPDX-License-Identifier: BSD-2-Clause
// A filter that denies io_uring_enter(2) to a thread that uses an io_uring leaves it nothing to go on with: the program
// ends, and says why. A thread that begins after that uses epoll.
#include <pthread.h>

#include "child.h"
#include "deny.h"

static unsigned error;

static void *sleeps_on_epoll(void *unused) {
    CHECK(strstr(fin_io_backend(), "epoll, because"));
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    return unused;
}

static void denied(void) {
    pthread_t t;
    alarm(60);
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    deny(SYS_io_uring_enter, error);
    CHECK_EQ(pthread_create(&t, NULL, sleeps_on_epoll, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    fin_sleep(1000 * FIN_S);
}

int main(void) {
    static const unsigned errors[] = {EPERM, EACCES, ENOSYS};
    if (on_epoll())
        SKIP("no io_uring here");
    for (unsigned i = 0; i < 3; i++) {
        char text[1000];
        error = errors[i];
        CHECK_EQ(killed_by(denied, text, sizeof text), SIGABRT);
        CHECK(strstr(text, "io_uring_enter(2) fails"));
        CHECK(strstr(text, strerror((int)error)));
        CHECK(strstr(text, "seccomp"));
    }
    return 0;
}

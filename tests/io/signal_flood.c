// SPDX-License-Identifier: BSD-2-Clause
// Signals all the time, without SA_RESTART, while threads begin their I/O: no call is interrupted, and none says that it was
// cancelled. (A ring that cannot start a worker thread for a signal cancels what the worker was for.)
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "net.h"

enum { THREADS = 60, AT_ONCE = 8 };

static char name[] = "/tmp/signal_flood-XXXXXX";

static void nothing(int signal) { (void)signal; }

static void *work(void *unused) {
    sigset_t set;
    int fd = open(name, O_RDWR);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    CHECK_EQ(fin_sleep(1000), 0);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    fin_finish {
        for (int i = 0; i < AT_ONCE; i++) {
            fin_async {
                CHECK_EQ(fin_pwrite_nc(fd, "12345678", 8, 0), 8);
                CHECK_EQ(fin_fsync(fd), 0);
                CHECK_EQ(fin_sleep(100), 0);
                int other = fin_open("/", O_RDONLY, 0);
                CHECK(other >= 0);
                CHECK_EQ(fin_close(other), 0);
            };
        }
    }
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    close(fd);
    return unused;
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    CHECK_EQ(sigaction(SIGALRM, &(struct sigaction){.sa_handler = nothing}, NULL), 0);
    close(mkstemp(name));
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_t t;
        CHECK_EQ(pthread_create(&t, NULL, work, NULL), 0);
        CHECK_EQ(pthread_join(t, NULL), 0);
    }
    CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
    unlink(name);
    return 0;
}

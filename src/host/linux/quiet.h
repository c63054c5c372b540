// SPDX-License-Identifier: BSD-2-Clause
// While the library writes what nobody has asked this thread for: a pipe that nobody reads any more, and a limit on the size
// of files, are errors, and not the end of the program. Other threads go on meanwhile, and end by these signals as ever.
#ifndef FIN_HOST_QUIET_H
#define FIN_HOST_QUIET_H

#include <pthread.h>
#include <signal.h>
#include <time.h>

struct fin_quiet {
    sigset_t set, pending, mask;
};

static inline struct fin_quiet fin_be_quiet(void) {
    struct fin_quiet q;
    sigemptyset(&q.set);
    sigaddset(&q.set, SIGPIPE);
    sigaddset(&q.set, SIGXFSZ);
    sigpending(&q.pending);
    pthread_sigmask(SIG_BLOCK, &q.set, &q.mask);
    return q;
}

// Takes what writing has left, not what was there before.
static inline void fin_be_as_before(struct fin_quiet *q) {
    if (sigismember(&q->pending, SIGPIPE) == 1)
        sigdelset(&q->set, SIGPIPE);
    if (sigismember(&q->pending, SIGXFSZ) == 1)
        sigdelset(&q->set, SIGXFSZ);
    while (sigtimedwait(&q->set, NULL, &(struct timespec){0}) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &q->mask, NULL);
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// Threads that the library starts for itself.
#ifndef FIN_OWN_THREAD_H
#define FIN_OWN_THREAD_H

#include <pthread.h>
#include <signal.h>

// Starts a detached thread. Signals are for the program's threads, but for those that a thread's own fault raises. Returns 0
// or -errno.
static inline int fin_own_thread(void *(*fn)(void *)) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t blocked, before;
    pthread_t thread;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int error = pthread_create(&thread, NULL, fn, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        pthread_detach(thread);
    return -error;
}

#endif

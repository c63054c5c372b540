// SPDX-License-Identifier: BSD-2-Clause
// Waits for signals against cancellation, with another thread that sends: each signal is read once, whoever was cancelled.
// Then sets that open and close while signals come.
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "net.h"

static int rounds;
static struct fin_signals s;
static _Atomic int seen, finished;

static void *send_numbers(void *unused) {
    for (int i = 0; i < rounds; i++) {
        while (i - seen >= 512) // so many are kept
            sched_yield();
        CHECK_EQ(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i}), 0);
    }
    return unused;
}

static void receive(void *cancelled) {
    struct fin_signal_info i;
    int r = fin_signals_next(&s, &i);
    CHECK(r == 0 || r == -ECANCELED);
    if (r == 0) {
        CHECK_EQ((int)i.value, seen); // none lost, none twice
        seen++;
    } else {
        ++*(int *)cancelled;
    }
}

static void each_once(void) {
    pthread_t t;
    sigset_t set;
    int cancelled = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    CHECK_EQ(fin_signals_open(&s, &set), 0);
    fin_finish {
        fin_async_call(receive, &cancelled);
        fin_cancel();
    }
    CHECK_EQ(cancelled, 1);
    // Signals are in order only where one thread handles them.
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    CHECK_EQ(pthread_create(&t, NULL, send_numbers, NULL), 0);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    for (unsigned i = 0; seen < rounds; i++) {
        fin_finish {
            fin_async_call(receive, &cancelled);
            if (i % 3)
                CHECK_EQ(fin_sleep_nc(i % 5), 0);
            fin_cancel();
        }
    }
    pthread_join(t, NULL);
    CHECK_EQ(fin_signals_lost(&s), 0);
    fin_signals_close(&s);
}

static void *shoot(void *target) {
    while (!finished) {
        pthread_kill(*(pthread_t *)target, SIGUSR1);
        pthread_kill(pthread_self(), SIGUSR1);
    }
    return NULL;
}

// Not SIG_IGN, and with SA_SIGINFO: qemu reads an action piece by piece while it may change, jumps to SIG_IGN's address or
// passes no siginfo.
static void ignore(int unused, siginfo_t *from, void *context) { (void)unused, (void)from, (void)context; }

static void open_and_close(void) {
    pthread_t t, self = pthread_self();
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK_EQ(sigaction(SIGUSR1, &(struct sigaction){.sa_sigaction = ignore, .sa_flags = SA_SIGINFO}, NULL), 0);
    CHECK_EQ(pthread_create(&t, NULL, shoot, &self), 0);
    for (int i = 0; i < rounds / 10; i++) {
        struct fin_signals a, b;
        struct fin_signal_info info;
        CHECK_EQ(fin_signals_open(&a, &set), 0);
        CHECK_EQ(fin_signals_open(&b, &set), 0);
        CHECK_EQ(fin_signals_next(&b, &info), 0);
        CHECK_EQ(info.signal, SIGUSR1);
        fin_signals_close(&b);
        CHECK_EQ(fin_signals_next(&a, &info), 0);
        fin_signals_close(&a);
    }
    finished = 1;
    pthread_join(t, NULL);
}

int main(void) {
    rounds = getenv("FIN_FEW") ? 500 : getenv("FIN_IO") ? 4000 : 20000; // long once
    each_once();
    open_and_close();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A thread ends in the middle of a finish block in which an AWE waits for signals, with a stack or with a continuation. What
// came, though nobody was told of it, is left to who waits next, and so is a later one of the same number.
#include <pthread.h>
#include <signal.h>

#include "net.h"

static struct fin_signals set;
static struct fin_signal_info lost;

static void waits(void *unused) {
    (void)unused;
    fin_signals_next(&set, &lost);
    CHECK(false);
}

static void told(void *state, int result) {
    (void)state, (void)result;
    CHECK(false);
}

static void waits_on(void *state, int unused) {
    static struct fin_more_on on;
    (void)state, (void)unused;
    fin_signals_next_on(&set, &lost, &on, told, NULL, 0);
    CHECK(false);
}

static void *ends_early(void *with_stack) {
    fin_finish {
        if (with_stack)
            fin_async_eager_call(waits, NULL);
        else
            CHECK(fin_async_cont(waits_on, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        raise(SIGUSR1); // the kernel may hand it to a read that it has
        pthread_exit(NULL);
    }
    return NULL;
}

static void is_there(void) {
    struct fin_signal_info i = {0};
    fin_timeout(2 * FIN_S)
        CHECK_EQ(fin_signals_next(&set, &i), 0);
    CHECK_EQ(i.signal, SIGUSR1);
}

int main(void) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    CHECK_EQ(fin_signals_open(&set, &s), 0);
    for (int i = 0; i < 20; i++) {
        pthread_t t;
        CHECK_EQ(pthread_create(&t, NULL, ends_early, i % 2 ? &set : NULL), 0);
        CHECK_EQ(pthread_join(t, NULL), 0);
        is_there();
        raise(SIGUSR1);
        is_there();
    }
    fin_signals_close(&set);
    return 0;
}

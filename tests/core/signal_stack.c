// SPDX-License-Identifier: BSD-2-Clause
// A program's own signal stack, set after Fin has set one, stays until the thread has ended.
#include <pthread.h>
#include <signal.h>

#include <fin.h>

#include "check.h"

extern void __asan_init(void) __attribute__((weak));

static char own[65536];
static pthread_key_t key;
static int rounds;

static void look(void *again) {
    stack_t s;
    CHECK_EQ(sigaltstack(NULL, &s), 0);
    CHECK(s.ss_sp == own && !(s.ss_flags & SS_DISABLE));
    if (++rounds < 3)
        pthread_setspecific(key, again);
}

static void *thread(void *unused) {
    fin_finish {
        fin_yield();
    }
    CHECK_EQ(sigaltstack(&(stack_t){.ss_sp = own, .ss_size = sizeof own}, NULL), 0);
    pthread_setspecific(key, own);
    return unused;
}

int main(void) {
    pthread_t t;
    if (__asan_init)
        SKIP("ASan has a signal stack of its own, and takes that away");
    CHECK_EQ(pthread_key_create(&key, look), 0);
    CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    CHECK(rounds > 1);
    return 0;
}

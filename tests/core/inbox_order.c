// SPDX-License-Identifier: BSD-2-Clause
// What a thread wrote before fin_schedule is what the AWE sees after it was woken, and the other way around what the AWE
// wrote before it stopped: plain memory, several cache lines of it, with nothing but the inbox and the publication of the
// AWE in between. ROUNDS as the argument.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <fin.h>

#include "check.h"

enum { WAKERS = 2, LINES = 8, WORDS = 8 };

static struct mail {
    uint64_t request[LINES][WORDS], answer[LINES][WORDS];
    struct fin_awe *waits; // atomic
} mail[WAKERS] __attribute__((aligned(64)));

static uint64_t rounds;

// From the end, so that what is written last is looked at first.
static void same(uint64_t (*p)[WORDS], uint64_t value) {
    for (int i = LINES - 1; i >= 0; i--)
        for (int k = WORDS - 1; k >= 0; k--)
            CHECK_EQ(p[i][k], value);
}

static void write_all(uint64_t (*p)[WORDS], uint64_t value) {
    for (int i = 0; i < LINES; i++)
        for (int k = 0; k < WORDS; k++)
            p[i][k] = value;
}

static void *waker(void *arg) {
    struct mail *m = arg;
    for (uint64_t i = 1; i <= rounds; i++) {
        struct fin_awe *a;
        while (!(a = __atomic_exchange_n(&m->waits, NULL, __ATOMIC_ACQUIRE)))
            sched_yield();
        same(m->answer, i - 1);
        write_all(m->request, i);
        CHECK_EQ(fin_schedule(a), 0);
    }
    return NULL;
}

static void publish(void *arg) {
    void **pair = arg;
    __atomic_store_n(&((struct mail *)pair[0])->waits, *(struct fin_awe **)pair[1], __ATOMIC_RELEASE);
}

static void woken(void *arg) {
    struct mail *m = arg;
    for (uint64_t i = 1; i <= rounds; i++) {
        struct fin_awe *self;
        void *pair[] = {m, &self};
        fin_suspend_then(&self, publish, pair);
        same(m->request, i);
        write_all(m->answer, i);
    }
}

int main(int argc, char **argv) {
    pthread_t t[WAKERS];
    rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : getenv("FIN_FEW") ? 500 : 5000;
    for (int i = 0; i < WAKERS; i++)
        CHECK_EQ(pthread_create(&t[i], NULL, waker, &mail[i]), 0);
    fin_finish {
        for (int i = 0; i < WAKERS; i++)
            fin_async_call(woken, &mail[i]);
    }
    for (int i = 0; i < WAKERS; i++)
        CHECK_EQ(pthread_join(t[i], NULL), 0);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Threads that make their first call, and so change the place where they sleep, while others wake them: no wake-up is lost.
#include <pthread.h>
#include <sched.h>

#include "net.h"

enum { WAKES = 20 };

static struct fin_awe *slot;

static void be_woken(void *unused) {
    (void)unused;
    for (int i = 0; i < WAKES; i++)
        fin_suspend(&slot);
}

static void *sleeper(void *number) {
    unsigned n = (unsigned)(uintptr_t)number;
    fin_finish {
        fin_async_call(be_woken, NULL);
        for (unsigned i = 0; i < n % 7; i++)
            fin_yield();
        CHECK_EQ(fin_sleep(0), 0);
    }
    return NULL;
}

int main(void) {
    const uintptr_t threads = getenv("FIN_FEW") ? 40 : 300;
    for (uintptr_t i = 0; i < threads; i++) {
        pthread_t t;
        CHECK_EQ(pthread_create(&t, NULL, sleeper, (void *)i), 0);
        for (int k = 0; k < WAKES; k++) {
            struct fin_awe *a;
            while (!(a = __atomic_exchange_n(&slot, NULL, __ATOMIC_ACQUIRE)))
                sched_yield();
            CHECK_EQ(fin_schedule(a), 0);
        }
        pthread_join(t, NULL);
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Rings come where those of other threads were, which ended a moment before: TSan sees no order between the two.
#include <pthread.h>

#include "net.h"

enum { THREADS = 4, TIMES = 12 };

static void *sleeps(void *unused) {
    fin_finish {
        for (int i = 0; i < 20; i++) {
            fin_async_eager { CHECK_EQ(fin_sleep(FIN_US), 0); };
        }
    }
    return unused;
}

static void *starts(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        pthread_t t;
        CHECK_EQ(pthread_create(&t, NULL, sleeps, NULL), 0);
        CHECK_EQ(pthread_join(t, NULL), 0);
    }
    return unused;
}

int main(void) {
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&t[i], NULL, starts, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(t[i], NULL), 0);
    return 0;
}

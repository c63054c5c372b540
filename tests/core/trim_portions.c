// SPDX-License-Identifier: BSD-2-Clause
// A thread that has nothing to run gives memory of spare stacks back in portions: what is due meanwhile does not wait until
// that of thousands has gone, which takes hundreds of milliseconds for 100,000. In the end all has gone but what stays.
#include <fin.h>

#include "check.h"

enum { MANY = 2000, SOME = 200, STAY = 64 };

static struct fin_sem sem = FIN_SEM_INIT(0);

static FIN_BLOCKING void waits(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sem_wait(&sem), 0);
}

static uint64_t released(void) {
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks_released;
}

int main(void) {
    fin_finish {
        for (int i = 0; i < MANY; i++)
            fin_async_eager_call(waits, NULL);
        for (int i = 0; i < MANY; i++)
            fin_sem_post(&sem);
    }
    CHECK_EQ(released(), 0);
    CHECK_EQ(fin_sleep(0), 0);
    CHECK(released() <= SOME);
    while (released() < MANY - STAY)
        CHECK_EQ(fin_sleep(FIN_MS), 0);
    return 0;
}

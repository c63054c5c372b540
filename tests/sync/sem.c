// SPDX-License-Identifier: BSD-2-Clause
// A semaphore within one thread.
#include <errno.h>
#include <limits.h>
#include <string.h>

#include <fin.h>

#include "check.h"

static struct fin_sem s = FIN_SEM_INIT(2);

static void waiter(void *arg) {
    CHECK_EQ(fin_sem_wait(&s), 0);
    LOG("w%d ", (int)(intptr_t)arg);
}

static void order(void) {
    fin_finish {
        for (intptr_t i = 0; i < 5; i++)
            fin_async_call(waiter, (void *)i);
        LOG("| ");
        CHECK_EQ(fin_sem_post(&s), 0);
        CHECK_EQ(fin_sem_trywait(&s), -EAGAIN); // it is w2's already
        for (int i = 0; i < 5; i++)
            fin_yield();
        LOG("| ");
        fin_sem_post(&s);
        fin_sem_post(&s);
    }
    CHECK_LOG("w0 w1 | w2 | w3 w4 ");
    CHECK_EQ(fin_sem_trywait(&s), -EAGAIN);
}

static void negative(void) {
    struct fin_sem n;
    fin_sem_init(&n, -2);
    fin_shared int passed = 0;
    struct fin_sem *p = &n;
    fin_finish {
        fin_async {
            fin_sem_wait_nc(p);
            passed = 1;
        };
        for (int i = 0; i < 3; i++) {
            fin_yield();
            CHECK_EQ(passed, 0);
            fin_sem_post(p);
        }
    }
    CHECK_EQ(passed, 1);
    CHECK_EQ(fin_sem_trywait(p), -EAGAIN);
}

static void cancelled(void) {
    fin_sem_init(&s, 1);
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_sem_wait(&s), -ECANCELED);
        CHECK_EQ(fin_sem_trywait(&s), 0);
    }
    fin_shared int granted = 1, before = 0;
    fin_finish {
        fin_async { granted = fin_sem_wait(&s); };
        fin_async { before = fin_sem_wait(&s); };
        fin_sem_post(&s); // the first has it, though the cancel comes before it runs
        fin_cancel();
        fin_async {
            fin_sem_wait_nc(&s);
            LOG("nc");
        };
        fin_yield();
        fin_yield();
        check_log[0] = 0;
        fin_sem_post(&s);
    }
    CHECK_EQ(granted, 0);
    CHECK_EQ(before, -ECANCELED);
    CHECK_LOG("nc");
    CHECK_EQ(fin_sem_trywait(&s), -EAGAIN);
}

int main(void) {
    order();
    negative();
    cancelled();
    fin_sem_init(&s, INT_MAX);
    CHECK_EQ(fin_sem_post(&s), -EOVERFLOW);
    CHECK_EQ(s.value, INT_MAX);
    return 0;
}

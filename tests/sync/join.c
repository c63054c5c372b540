// SPDX-License-Identifier: BSD-2-Clause
// Joining a thread blocks the AWE alone; a cancelled join leaves the thread as it was.
#include <errno.h>
#include <pthread.h>

#include <fin.h>

#include "check.h"

static struct fin_sem gate = FIN_SEM_INIT(0);
static int ran;

static void child(void *arg) {
    CHECK_EQ(fin_sem_wait(&gate), 0);
    *(int *)arg = 1;
}

static void waits(void) {
    struct fin_thread_handle handle, *h = &handle;
    fin_shared int joined = 0, others = 0;
    ran = 0;
    CHECK_EQ(fin_thread_start(h, child, &ran), 0);
    fin_finish {
        fin_async {
            CHECK_EQ(fin_thread_join(h), 0);
            CHECK_EQ(ran, 1);
            joined = 1;
        };
        for (int i = 0; i < 100; i++) {
            fin_yield();
            others++;
        }
        CHECK_EQ(joined, 0);
        fin_sem_post(&gate);
    }
    CHECK_EQ(joined, 1);
    CHECK_EQ(others, 100);
}

static void cancelled(void) {
    struct fin_thread_handle handle, *h = &handle;
    ran = 0;
    CHECK_EQ(fin_thread_start(h, child, &ran), 0);
    fin_finish {
        fin_async { CHECK_EQ(fin_thread_join(h), -ECANCELED); };
        fin_cancel();
        CHECK_EQ(fin_thread_join(h), -ECANCELED);
    }
    fin_finish {
        fin_async {
            fin_thread_join_nc(h);
            CHECK_EQ(ran, 1);
        };
        fin_cancel();
        fin_yield();
        CHECK_EQ(__atomic_load_n(&ran, __ATOMIC_RELAXED), 0);
        fin_sem_post(&gate);
    }
}

// Also for a thread that leaves by pthread_exit, and for one that never used its runtime.
static void exits(void *arg) { pthread_exit(arg); }
static void plain(void *arg) { *(int *)arg = 1; }

static void many(void) {
    struct fin_thread_handle h[20];
    for (int i = 0; i < 10; i++) {
        ran = 0;
        CHECK_EQ(fin_thread_start(&h[i], exits, NULL), 0);
        CHECK_EQ(fin_thread_start(&h[10 + i], plain, &ran), 0);
        CHECK_EQ(fin_thread_join(&h[i]), 0);
        CHECK_EQ(fin_thread_join(&h[10 + i]), 0);
        CHECK_EQ(ran, 1);
    }
}

// Joined by an AWE of a thread other than the one that started it.
static void joiner(void *h) { CHECK_EQ(fin_thread_join(h), 0); }

static void from_elsewhere(void) {
    struct fin_thread_handle worker, other;
    CHECK_EQ(fin_thread_start(&worker, child, &ran), 0);
    CHECK_EQ(fin_thread_start(&other, joiner, &worker), 0);
    fin_sem_post(&gate);
    CHECK_EQ(fin_thread_join(&other), 0);
}

int main(void) {
    waits();
    cancelled();
    many();
    from_elsewhere();
    return 0;
}

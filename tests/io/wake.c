// SPDX-License-Identifier: BSD-2-Clause
// A thread that is idle in its ring is woken by fin_schedule from another OS thread, each time: both wait in turn for the
// other, and a lost wake-up would leave both asleep. Also with many wakers at once, and while the thread has I/O in flight.
#include <pthread.h>
#include <sched.h>

#include "net.h"

enum { WAKERS = 4 };

static int rounds = 20000, each = 5000;

static struct fin_awe *ping, *pong;

static void take_and_schedule(struct fin_awe **slot) {
    struct fin_awe *a;
    while (!(a = __atomic_exchange_n(slot, NULL, __ATOMIC_ACQUIRE)))
        sched_yield();
    CHECK_EQ(fin_schedule(a), 0);
}

static void wake_pong(void *unused) {
    (void)unused;
    take_and_schedule(&pong);
}

static void *other(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(1), 0); // makes the ring
    for (int i = 0; i < rounds; i++) {
        take_and_schedule(&ping);
        fin_suspend(&pong);
    }
    return NULL;
}

static void in_turn(void) {
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, other, NULL), 0);
    for (int i = 0; i < rounds; i++) {
        fin_suspend(&ping);
        wake_pong(NULL);
    }
    pthread_join(t, NULL);
}

static struct fin_awe *slots[WAKERS];

static void *waker(void *slot) {
    for (int i = 0; i < each; i++)
        take_and_schedule(slot);
    return NULL;
}

static void wait_often(void *slot) {
    for (int i = 0; i < each; i++)
        fin_suspend(slot);
}

static void many_wakers(void) {
    pthread_t t[WAKERS];
    fin_finish {
        for (int i = 0; i < WAKERS; i++) {
            fin_async_call(wait_often, &slots[i]);
            CHECK_EQ(pthread_create(&t[i], NULL, waker, &slots[i]), 0);
        }
    }
    for (int i = 0; i < WAKERS; i++)
        pthread_join(t[i], NULL);
}

int main(void) {
    if (getenv("FIN_FEW"))
        rounds = each = 300;
    static int fd[2];
    static char c;
    fin_shared int n = 0;
    CHECK_EQ(fin_sleep(1), 0);
    in_turn();
    stream_pair(fd);
    fin_finish {
        fin_async { n = (int)fin_recv(fd[0], &c, 1, 0); };
        fin_async { CHECK_EQ(fin_sleep(3600 * FIN_S), -ECANCELED); };
        many_wakers();
        CHECK_EQ(n, 0);
        CHECK_EQ(write(fd[1], "x", 1), 1);
        while (n == 0)
            CHECK_EQ(fin_sleep(1), 0);
        fin_cancel();
    }
    CHECK_EQ(n, 1);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Who wakes an AWE, raises an alert or makes a descriptor ready in the moment in which the thread goes to sleep in a loop
// that is not Fin's is heard there.
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>

#include <fin.h>

#include "check.h"
#include "net.h"

static struct fin_event asked = FIN_EVENT_INIT;
static uint64_t answered; // as far as the main thread has come
static int pair[2], rounds;
static bool by_socket;

static void pause_for(unsigned n) {
    for (volatile unsigned i = 0; i < n; i++)
        continue;
    if (n % 7 == 0)
        sched_yield();
}

// Asks again as soon as it has been answered, in a moment that differs.
static void *asks(void *unused) {
    (void)unused;
    for (int i = 1; i <= rounds; i++) {
        if (by_socket)
            CHECK_EQ(write(pair[1], "x", 1), 1);
        else
            fin_event_advance(&asked, 1);
        while (__atomic_load_n(&answered, __ATOMIC_ACQUIRE) < (uint64_t)i)
            sched_yield();
        pause_for((unsigned)(i * 37) % 400);
    }
    return NULL;
}

static FIN_BLOCKING void answers(void *unused) {
    char c;
    (void)unused;
    for (int i = 1; i <= rounds; i++) {
        if (by_socket)
            CHECK_EQ(fin_read(pair[0], &c, 1), 1);
        else
            CHECK_EQ(fin_event_await(&asked, (uint64_t)i), 0);
        __atomic_store_n(&answered, (uint64_t)i, __ATOMIC_RELEASE);
    }
}

static void race(bool socket) {
    pthread_t t;
    int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN};
    CHECK_EQ(epoll_ctl(loop, EPOLL_CTL_ADD, fin_embed_fd(), &e), 0);
    by_socket = socket;
    asked = (struct fin_event)FIN_EVENT_INIT;
    answered = 0;
    CHECK_EQ(pthread_create(&t, NULL, asks, NULL), 0);
    fin_finish {
        fin_async_call(answers, NULL);
        while (answered < (uint64_t)rounds) {
            CHECK_EQ(fin_embed_run(), 0);
            if (answered < (uint64_t)rounds)
                CHECK_EQ(epoll_wait(loop, &e, 1, 20000), 1);
        }
    }
    CHECK_EQ(pthread_join(t, NULL), 0);
    close(loop);
}

int main(void) {
    rounds = getenv("FIN_FEW") ? 2000 : 20000;
    stream_pair(pair);
    race(false);
    race(true);
    close(pair[0]);
    close(pair[1]);
    return 0;
}

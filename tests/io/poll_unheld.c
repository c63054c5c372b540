// SPDX-License-Identifier: BSD-2-Clause
// Room in a socket whose peer has sent its last is waited for by an epoll. Where there is no memory to hold that, and the
// thread ends, it is closed all the same.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>

#include "net.h"

enum { THREADS = 5 };

static bool lacking;
static int pair[2];

void *realloc(void *p, size_t size) {
    static void *(*real)(void *, size_t);
    if (__atomic_load_n(&lacking, __ATOMIC_RELAXED))
        return NULL;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "realloc");
    return real(p, size);
}

static void waits(void *unused) {
    (void)unused;
    CHECK_EQ(fin_poll(pair[0], POLLOUT), -ENOMEM); // on epoll; otherwise it waits, as there is no room
}

// It ends while another AWE waits.
static void *run(void *unused) {
    CHECK_EQ(fin_sleep(1), 0);
    fin_finish {
        __atomic_store_n(&lacking, true, __ATOMIC_RELAXED);
        fin_async_eager_call(waits, NULL);
        for (int i = 0; i < 3; i++)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        __atomic_store_n(&lacking, false, __ATOMIC_RELAXED);
        pthread_exit(NULL);
    }
    return unused;
}

static void one(void) {
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, run, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

int main(void) {
    if (FIN_SANITIZED || on_valgrind())
        SKIP("what watches has a realloc of its own");
    stream_pair(pair);
    while (send(pair[0], "x", 1, MSG_DONTWAIT) == 1)
        ;
    CHECK_EQ(shutdown(pair[1], SHUT_WR), 0);
    one();
    int before = settled_descriptors();
    for (int i = 0; i < THREADS; i++)
        one();
    until_open_descriptors(before);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A thread ends in the midst of an async body, which it must not do (docs/core.md): on another stack than the one that it
// came with, where frames with arrays have not returned. It ends all the same, nothing of it runs any more, and the next
// thread has the runtime. Also where the system does not say where a thread's stack is, which lies below the runtime's.
#define _GNU_SOURCE
#include <fin.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "check.h"

enum { ROUNDS = 20 };

static int ran;
static sem_t go;

int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr); // where the build has the linker ask for it
int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr) {
    (void)thread, (void)attr;
    return ENOMEM;
}

static void never(void *unused) {
    (void)unused;
    fin_yield();
    ran++;
}

static void ends(void *unused) {
    fin_yield();
    pthread_exit(unused);
}

// So that the frames that it leaves on the thread's stack are deeper than those of the thread's end.
static __attribute__((noinline)) void deep(int depth) {
    char text[200];
    memset(text, depth, sizeof text);
    if (depth > 0)
        deep(depth - 1);
    __asm__ volatile("" : : "r"(text) : "memory");
    if (depth > 0)
        return;
    fin_finish {
        fin_async_eager_call(ends, NULL);
        fin_async_eager_call(never, NULL);
    }
    ran++;
}

static void *begins(void *wait) {
    if (wait)
        sem_wait(&go);
    deep(20);
    return NULL;
}

static void lives(void *unused) {
    (void)unused;
    ran++;
}

int main(void) {
    if (ON_TSAN)
        SKIP("TSan does not let a fiber call pthread_exit");
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t t, below;
        struct fin_thread_handle next;
        CHECK_EQ(pthread_create(&t, NULL, begins, NULL), 0);
        CHECK_EQ(pthread_create(&below, NULL, begins, &go), 0);
        CHECK_EQ(pthread_join(t, NULL), 0);
        sem_post(&go);
        CHECK_EQ(pthread_join(below, NULL), 0);
        CHECK_EQ(ran, i);
        CHECK_EQ(fin_thread_start(&next, lives, NULL), 0);
        fin_thread_join_nc(&next);
    }
    return 0;
}

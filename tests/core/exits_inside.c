// SPDX-License-Identifier: BSD-2-Clause
// A thread ends in the midst of an async body, which it must not do (docs/core.md): on another stack than the one that it
// came with, where frames with arrays have not returned. It ends all the same, nothing of it runs any more, and the next
// thread has the runtime.
#include <fin.h>

#include <pthread.h>
#include <string.h>

#include "check.h"

enum { ROUNDS = 20 };

static int ran;

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

static void *begins(void *unused) {
    deep(20);
    return unused;
}

static void lives(void *unused) {
    (void)unused;
    ran++;
}

int main(void) {
    if (ON_TSAN)
        SKIP("TSan does not let a fiber call pthread_exit");
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t t;
        struct fin_thread_handle next;
        CHECK_EQ(pthread_create(&t, NULL, begins, NULL), 0);
        CHECK_EQ(pthread_join(t, NULL), 0);
        CHECK_EQ(ran, i);
        CHECK_EQ(fin_thread_start(&next, lives, NULL), 0);
        fin_thread_join_nc(&next);
    }
    return 0;
}

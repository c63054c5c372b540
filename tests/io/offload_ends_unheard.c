// SPDX-License-Identifier: BSD-2-Clause
// A thread ends in the middle of a finish block, which it must not, behind a job that the pool has done and of which nobody
// has heard yet: what is left of its frames is the thread's to overwrite, and nobody looks there.
#include <pthread.h>
#include <string.h>

#include "net.h"

enum { TIMES = 20 };

static int done;
static pthread_key_t key;

static void work(void *unused) {
    (void)unused;
    __atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
}

// As the destructor of a thread-specific value may.
static __attribute__((noinline)) void overwrites(void *unused) {
    char all[12000];
    (void)unused;
    memset(all, 0x41, sizeof all);
    __asm__ volatile("" : : "r"(all) : "memory");
}

static void offloads(void *unused) {
    (void)unused;
    fin_offload(work, NULL);
}

static void *ends(void *p) {
    pthread_setspecific(key, p);
    fin_finish {
        fin_async_call(offloads, NULL);
        while (!__atomic_load_n(&done, __ATOMIC_SEQ_CST)) {
        }
        usleep(1000); // and the AWE has been made to run
        pthread_exit(NULL);
    }
    return NULL;
}

int main(void) {
    if (FIN_SANITIZED)
        SKIP("sanitizers know of frames that are left so");
    CHECK_EQ(pthread_key_create(&key, overwrites), 0);
    CHECK_EQ(fin_sleep(1), 0);
    for (int i = 0; i < TIMES; i++) {
        pthread_t t;
        done = 0;
        CHECK_EQ(pthread_create(&t, NULL, ends, &key), 0);
        pthread_join(t, NULL);
    }
    return 0;
}

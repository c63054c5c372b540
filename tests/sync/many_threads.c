// SPDX-License-Identifier: BSD-2-Clause
// Many threads, several AWEs on each, one mutex, and one latch: the sections exclude each other and all get their turns.
#include <fin.h>

#include "check.h"

enum { THREADS = 8, AWES = 4, ROUNDS = 1500 };

static struct fin_mutex m = FIN_MUTEX_INIT;
static struct fin_latch latch;
static long counter, in_section, latched;

static void worker(void *arg) {
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        fin_mutex_lock_nc(&m);
        CHECK_EQ(in_section++, 0);
        counter++;
        if (i % 16 == 0)
            fin_yield(); // the thread's other AWEs run into the locked mutex
        in_section--;
        fin_mutex_unlock(&m);
        fin_latch_acquire(&latch);
        latched++;
        fin_latch_release(&latch);
    }
}

static void thread(void *arg) {
    fin_finish {
        for (int i = 0; i < AWES; i++)
            fin_async_call(worker, arg);
    }
}

int main(void) {
    struct fin_thread_handle t[THREADS];
    fin_latch_init(&latch);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(fin_thread_start(&t[i], thread, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(fin_thread_join(&t[i]), 0);
    CHECK_EQ(counter, (long)THREADS * AWES * ROUNDS);
    CHECK_EQ(latched, counter);
    CHECK_EQ(fin_mutex_trylock(&m), 0);
    return 0;
}

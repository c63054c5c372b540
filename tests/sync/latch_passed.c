// SPDX-License-Identifier: BSD-2-Clause
// Whoever waits for a latch for long says so, and its holder then gives up its processor with the latch free. A thread that
// takes a latch again and again, and is interrupted always while it holds it (valgrind's threads run in turns of a fixed
// length), keeps it for ever otherwise.
#include <fin.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "check.h"
#include "process.h"

static struct fin_latch latch;
static _Thread_local unsigned yields;

int sched_yield(void) {
    yields++;
    return (int)syscall(SYS_sched_yield);
}

static void *waits(void *unused) {
    fin_latch_acquire(&latch);
    CHECK(yields > 0);
    fin_latch_release(&latch);
    return unused;
}

int main(void) {
    pthread_t thread;
    alarm(60);
    fin_latch_init(&latch);
    fin_latch_acquire(&latch);
    fin_latch_release(&latch);
    CHECK_EQ(yields, 0); // nobody waited
    fin_latch_acquire(&latch);
    CHECK_EQ(pthread_create(&thread, NULL, waits, NULL), 0);
    while (__atomic_load_n(&latch.held, __ATOMIC_RELAXED) == 1)
        continue;
    fin_latch_release(&latch);
    CHECK_EQ(yields, 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    yields = 0;
    fin_latch_acquire(&latch);
    fin_latch_release(&latch);
    CHECK_EQ(yields, 0); // nobody waits any more
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A broadcast from another thread to waiters on several threads. Each waiter clobbers its stack as soon as it runs: a
// broadcast that read one after waking it would go astray.
#include <string.h>

#include <fin.h>

#include "check.h"

enum { THREADS = 3, AWES = 8, ROUNDS = 400 };

static struct fin_mutex m = FIN_MUTEX_INIT, other = FIN_MUTEX_INIT;
static struct fin_cond c = FIN_COND_INIT;
static struct fin_event arrived = FIN_EVENT_INIT, woken = FIN_EVENT_INIT;
static int round_number;

static void __attribute__((noinline)) clobber(void) {
    char junk[2048];
    memset(junk, 0xff, sizeof junk);
    __asm__ volatile("" : : "r"(junk) : "memory");
}

static void __attribute__((noinline)) wait_once(struct fin_mutex *mine, int round) {
    fin_mutex_lock_nc(mine);
    CHECK_EQ(__atomic_load_n(&round_number, __ATOMIC_ACQUIRE), round);
    fin_event_advance(&arrived, 1);
    fin_cond_wait_nc(&c, mine);
    CHECK_EQ(__atomic_load_n(&round_number, __ATOMIC_ACQUIRE), round + 1);
    fin_mutex_unlock(mine);
}

// The waiters of one condition variable may use different mutexes.
static void waiter(void *arg) {
    for (int i = 0; i < ROUNDS; i++) {
        wait_once(arg, i);
        clobber();
        fin_event_advance(&woken, 1);
        fin_event_await_nc(&woken, (uint64_t)(i + 1) * THREADS * AWES);
    }
}

static void thread(void *arg) {
    fin_finish {
        for (int i = 0; i < AWES; i++)
            fin_async_call(waiter, i % 2 ? arg : &other);
    }
}

// When both mutexes have been free, all that have arrived do wait.
static void round_of_all(uint64_t round) {
    fin_event_await_nc(&arrived, round * THREADS * AWES);
    fin_mutex_lock_nc(&m);
    fin_mutex_lock_nc(&other);
    __atomic_store_n(&round_number, (int)round, __ATOMIC_RELEASE);
    fin_cond_broadcast(&c);
    fin_mutex_unlock(&other);
    fin_mutex_unlock(&m);
    fin_event_await_nc(&woken, round * THREADS * AWES);
}

int main(void) {
    struct fin_thread_handle t[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(fin_thread_start(&t[i], thread, &m), 0);
    for (int i = 1; i <= ROUNDS; i++)
        round_of_all((uint64_t)i);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(fin_thread_join(&t[i]), 0);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Thousands of coroutines wait in calls (co::with_stack) at once, with one stack each for that time and none before and
// after; other threads wake them.
#include <cstring>

#include <fin/coro.hpp>

#include "process.h"

namespace co = fin::co;

enum { THREADS = 3, TURNS = 3 };
static fin_event go = FIN_EVENT_INIT;
static fin_sem sem = FIN_SEM_INIT(0), answered = FIN_SEM_INIT(0);
static long tasks, waiting, done;

static uint64_t stacks() {
    fin_stats_clear();
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks_used;
}

static fin::task<int> a_turn() {
    co_return co_await co::with_stack([] {
        int error = fin_sem_wait(&sem);
        fin_sem_post(&answered);
        return error;
    });
}

static fin::task<> takes_turns() {
    waiting++;
    CHECK_EQ(co_await co::await(go, 1), 0);
    waiting++;
    for (int i = 0; i < TURNS; i++)
        CHECK_EQ(co_await a_turn(), 0);
    done++;
}

static void posts(void *) {
    for (long i = 0; i < tasks / THREADS * TURNS; i++) {
        fin_sem_post(&sem);
        if (i % 8 == 7)
            for (int k = 0; k < 8; k++)
                fin_sem_wait_nc(&answered);
    }
}

static void wait_for(long n) {
    while (waiting < n)
        fin_yield();
    fin_yield();
}

int main() {
    tasks = on_valgrind() || FIN_SANITIZED ? 240 : 3000;
    fin_thread_handle threads[THREADS];
    fin_finish {
        for (long i = 0; i < tasks; i++)
            fin_async_task(takes_turns());
        wait_for(tasks);
        uint64_t few = stacks();
        fin_event_advance(&go, 1);
        wait_for(2 * tasks);
        CHECK_EQ(stacks() - few, tasks);
        for (fin_thread_handle &t : threads)
            CHECK_EQ(fin_thread_start(&t, posts, nullptr), 0);
    }
    for (fin_thread_handle &t : threads)
        fin_thread_join_nc(&t);
    CHECK_EQ(done, tasks);
    CHECK_EQ(stacks(), 1u);
    return 0;
}

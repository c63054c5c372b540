// SPDX-License-Identifier: BSD-2-Clause
// A call of a coroutine (co::with_stack) and a cancel before it, while it waits, when it has been woken, and after it. The
// coroutine goes on when the call has ended, never before, however the call takes it.
#include <cstring>
#include <sched.h>
#include <stdexcept>

#include <fin/coro.hpp>

#include "check.h"

namespace co = fin::co;

static int calls;

static fin::task<> sleeps(int *result) {
    *result = 1;
    *result = co_await co::with_stack([] {
        calls++;
        return fin_sleep(UINT64_MAX);
    });
    CHECK_EQ(co_await co::sleep(1), *result);
}

static fin::task<> sleeps_below(int *result) { co_await sleeps(result); }

static void before_and_during() {
    int never = 0, soon[2] = {0, 0}, nested = 0;
    fin::finish([&](fin::scope &s) {
        s.async(sleeps(&soon[0]));
        s.async(sleeps_below(&nested));
        fin_yield();
        fin_yield();
        CHECK(soon[0] == 1 && nested == 1); // they wait
        s.async(sleeps(&soon[1]));          // its turn comes after
        s.cancel();
        s.async(sleeps(&never));
    });
    CHECK_EQ(soon[0], -ECANCELED);
    CHECK_EQ(soon[1], -ECANCELED);
    CHECK_EQ(nested, -ECANCELED);
    CHECK_EQ(never, -ECANCELED);
    CHECK_EQ(calls, 4); // also where it was cancelled before
}

// Woken, and cancelled before its turn: what it waited for has happened.
static fin::task<> waits_for(fin_sem &s, int *result) {
    *result = co_await co::with_stack([&] { return fin_sem_wait(&s); });
    CHECK_EQ(co_await co::sleep(1), -ECANCELED);
}

static fin::task<> waits_long(fin_sem &s, int *result) {
    *result = co_await co::with_stack([&] { return fin_sem_wait(&s); });
    CHECK_EQ(co_await co::sleep(UINT64_MAX), -ECANCELED);
}

static void after() {
    fin_sem s = FIN_SEM_INIT(0);
    int woken = 1, ended = 1;
    fin_finish {
        fin_async_task(waits_for(s, &woken));
        fin_yield();
        fin_sem_post(&s);
        fin_cancel();
    }
    CHECK_EQ(woken, 0);
    fin_finish {
        fin_sem_post(&s);
        fin_async_task(waits_long(s, &ended));
        fin_yield();
        CHECK_EQ(ended, 0); // and the task waits for something else
        fin_cancel();
    }
}

// It takes its time: what it refers to, in the coroutine, is there until it has ended.
static fin::task<> is_slow(fin_sem &go, int *done) {
    char here[64] = "untouched";
    co_await co::with_stack([&] {
        for (int i = 0; i < 3; i++)
            CHECK_EQ(fin_sleep(FIN_MS), -ECANCELED);
        fin_sem_wait_nc(&go);
        fin::finish_nc([](fin::scope &) { CHECK_EQ(fin_sleep(1), 0); }); // shielded
        CHECK_EQ(strcmp(here, "untouched"), 0);
        strcpy(here, "touched");
    });
    CHECK_EQ(strcmp(here, "touched"), 0);
    ++*done;
}

static void slow() {
    fin_sem go = FIN_SEM_INIT(0);
    int done = 0;
    fin_finish {
        fin_finish {
            fin_async_task(is_slow(go, &done));
            fin_yield();
            fin_cancel();
            fin_async {
                for (int i = 0; i < 10; i++)
                    fin_yield();
                CHECK_EQ(done, 0);
                fin_sem_post(&go);
            };
        }
        CHECK_EQ(done, 1);
    }
}

// An exception of another task cancels it; its own, that leaves the task, cancels the others.
static fin::task<> throws_below(bool at_once) {
    co_await co::with_stack([=] {
        if (!at_once)
            fin_yield();
        throw std::runtime_error("from a call");
    });
}

static void thrown() {
    for (bool at_once : {false, true}) {
        int results[4] = {0};
        bool caught = false;
        try {
            fin::finish([&](fin::scope &s) {
                for (int &r : results)
                    s.async(sleeps(&r));
                s.async(throws_below(at_once));
            });
        } catch (const std::runtime_error &) {
            caught = true;
        }
        CHECK(caught);
        for (int r : results)
            CHECK_EQ(r, -ECANCELED);
    }
}

// A cancel, and what another thread does: one of them decides, and what was posted is with who has it.
enum { ROUNDS = 300, TASKS = 4 };
static fin_sem sem = FIN_SEM_INIT(0);
static int begun, posted, taken, cancelled;

static fin::task<> takes() {
    int error = co_await co::with_stack([] { return fin_sem_wait(&sem); });
    CHECK(error == 0 || error == -ECANCELED);
    ++*(error == 0 ? &taken : &cancelled);
}

static void posts(void *) {
    for (int i = 1; i <= ROUNDS; i++) {
        while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) < i)
            sched_yield();
        for (int k = 0; k < TASKS; k++)
            fin_sem_post(&sem);
        __atomic_store_n(&posted, i, __ATOMIC_RELEASE);
    }
}

static void a_round(int i) {
    taken = cancelled = 0;
    fin_finish {
        for (int k = 0; k < TASKS; k++)
            fin_async_task(takes());
        if (i % 3)
            fin_yield();
        __atomic_store_n(&begun, i, __ATOMIC_RELEASE);
        for (int k = 0; k < i % 8; k++)
            sched_yield();
        fin_cancel();
    }
    while (__atomic_load_n(&posted, __ATOMIC_ACQUIRE) < i)
        sched_yield();
    CHECK_EQ(taken + cancelled, +TASKS);
    for (int k = 0; k < cancelled; k++)
        CHECK_EQ(fin_sem_trywait(&sem), 0);
    CHECK_EQ(fin_sem_trywait(&sem), -EAGAIN);
}

int main() {
    before_and_during();
    after();
    slow();
    thrown();
    fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, posts, nullptr), 0);
    for (int i = 1; i <= ROUNDS; i++)
        a_round(i);
    fin_thread_join_nc(&t);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Coroutines in number and in depth, awaited in other ways than once each, and ended in the midst by an exception or a
// cancel: each frame is gone at the end, and each step that a coroutine makes is made once.
#include <cstdlib>
#include <sched.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include <fin/co_all.hpp>

#include "check.h"

static int alive;
struct counted {
    counted() { alive++; }
    counted(const counted &) { alive++; }
    ~counted() { alive--; }
};

// ---- the stack does not grow, whatever the compiler makes of a resumption

static fin::task<int> one() { co_return 1; }

static fin::task<> sums(long n, long *sum) {
    counted c;
    for (long i = 0; i < n; i++)
        *sum += co_await one();
}

static fin::task<long> nested(long n, bool waits) {
    counted c;
    if (n == 0)
        co_return waits ? co_await fin::co::yield() : 0;
    co_return co_await nested(n - 1, waits) + 1;
}

static fin::task<> measures(long n, bool waits, long *depth) { *depth = co_await nested(n, waits); }

static fin::task<> throws_from(long n) {
    counted c;
    if (n == 0) {
        co_await fin::co::yield();
        throw std::runtime_error("deep");
    }
    co_await throws_from(n - 1);
}

static fin::task<> catches(long n, bool *caught) {
    try {
        co_await throws_from(n);
    } catch (const std::runtime_error &) {
        *caught = true;
    }
    CHECK_EQ(co_await fin::co::yield(), 0);
}

static void deep(long n) {
    long sum = 0, depth = 0, without = 0;
    bool caught = false;
    fin_finish {
        fin_async_task(sums(n, &sum));
        fin_async_task(measures(n, true, &depth));
        fin_async_task(measures(n, false, &without));
        fin_async_task(catches(n / 50, &caught));
    }
    CHECK(sum == n && depth == n && without == n && caught);
    CHECK_EQ(alive, 0);
}

// ---- once each

static fin::task<> started_twice(bool *refused) {
    fin::task<int> t = one();
    CHECK_EQ(co_await std::move(t), 1);
    try {
        co_await std::move(t);
    } catch (const std::logic_error &) {
        *refused = true;
    }
}

static fin::task<> sleeps_at(int *result) {
    counted c;
    *result = co_await fin::co::sleep(UINT64_MAX);
}

static fin::task<> awaits(fin::task<> &t, bool *refused) {
    try {
        co_await std::move(t);
    } catch (const std::logic_error &) {
        *refused = true;
    }
}

static fin::task<> moves(int fd, int *result) {
    char buffer[8];
    auto receive = fin::co::recv(fd, buffer, sizeof buffer);
    auto moved = std::move(receive);
    *result = co_await std::move(moved);
}

static bool is_refused(fin::task<> &t) {
    try {
        fin_finish { fin_async_task(std::move(t)); }
    } catch (const std::logic_error &) {
        return true;
    }
    return false;
}

static void once() {
    bool again = false, at_once[2] = {false, false};
    int slept = 0, received = 0, ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    fin::task<> shared = sleeps_at(&slept), given = sleeps_at(&slept);
    fin::finish([&](fin::scope &s) {
        s.async(started_twice(&again));
        s.async(awaits(shared, &at_once[0]));
        s.async(awaits(shared, &at_once[1]));
        s.async(moves(ends[0], &received));
        fin_yield();
        s.cancel();
    });
    CHECK(again && !at_once[0] && at_once[1]);
    CHECK(slept == -ECANCELED && received == -ECANCELED);
    CHECK(is_refused(shared));
    { fin::task<> taken = std::move(given); }
    CHECK(is_refused(given));
    CHECK_EQ(alive, 0);
    close(ends[0]);
    close(ends[1]);
}

// ---- ended in the midst

static fin::task<> throws_at_once() {
    counted c;
    throw std::runtime_error("at once");
    co_return;
}

static void several_throw() {
    int results[8] = {0};
    bool caught = false;
    try {
        fin::finish([&](fin::scope &s) {
            for (int &r : results)
                s.async(sleeps_at(&r));
            fin_yield();
            s.async(throws_at_once());
            s.async(throws_from(3));
            s.async([] {
                fin_yield();
                throw std::runtime_error("with a stack");
            });
        });
    } catch (const std::runtime_error &) {
        caught = true;
    }
    CHECK(caught);
    for (int r : results)
        CHECK_EQ(r, -ECANCELED);
    CHECK_EQ(alive, 0);
}

// A cancel and what another thread does decide a wait: one of them, and what was posted is with who has it.
static fin_sem sem = FIN_SEM_INIT(0);
static int rounds, round_begun, round_posted, taken, cancelled;
enum { TASKS = 4 };

static fin::task<> takes() {
    counted c;
    int error = co_await fin::co::wait(sem);
    CHECK(error == 0 || error == -ECANCELED);
    ++*(error == 0 ? &taken : &cancelled);
}

static void posts(void *) {
    for (int i = 1; i <= rounds; i++) {
        while (__atomic_load_n(&round_begun, __ATOMIC_ACQUIRE) < i)
            sched_yield();
        for (int k = 0; k < TASKS; k++)
            fin_sem_post(&sem);
        __atomic_store_n(&round_posted, i, __ATOMIC_RELEASE);
    }
}

static void a_round(int i) {
    taken = cancelled = 0;
    fin_finish {
        for (int k = 0; k < TASKS; k++)
            fin_async_task(takes());
        fin_yield();
        __atomic_store_n(&round_begun, i, __ATOMIC_RELEASE);
        for (int k = 0; k < i % 8; k++)
            sched_yield();
        fin_cancel();
    }
    while (__atomic_load_n(&round_posted, __ATOMIC_ACQUIRE) < i)
        sched_yield();
    CHECK_EQ(taken + cancelled, +TASKS);
    for (int k = 0; k < cancelled; k++)
        CHECK_EQ(fin_sem_trywait(&sem), 0);
    CHECK_EQ(fin_sem_trywait(&sem), -EAGAIN);
}

static void against_a_cancel() {
    fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, posts, nullptr), 0);
    for (int i = 1; i <= rounds; i++)
        a_round(i);
    fin_thread_join_nc(&t);
    CHECK_EQ(alive, 0);
}

// ---- tasks that are given others as parameters, one in the other: their frames end one by one, each when its result is
// there, and not one destructor inside the other, when the outermost ends

enum { MANY = 20000 };

static fin::task<int> first(bool throws, counted = {}) {
    co_await fin::co::yield();
    if (throws)
        throw std::runtime_error("the first");
    co_return 0;
}
static fin::task<int> after(fin::task<int> before, counted = {}) {
    int n = co_await std::move(before);
    co_return n + 1;
}

static fin::task<int> chain(bool throws) {
    auto t = first(throws);
    for (int i = 0; i < MANY; i++)
        t = after(std::move(t));
    return t;
}

static fin::task<> adds(fin::task<int> t, int &sum) { sum += co_await std::move(t); }

static fin::task<int> only_one(fin::task<int> t) {
    auto [n] = co_await fin::co::when_all(std::move(t));
    co_return n;
}

static fin::task<> with_a_name() {
    auto t = after(first(false)); // with its parameters
    CHECK_EQ(alive, 2);
    CHECK_EQ(co_await std::move(t), 1);
    CHECK_EQ(alive, 0);
    bool refused = false;
    try {
        co_await std::move(t);
    } catch (const std::logic_error &) {
        refused = true;
    }
    CHECK(refused);
}

static void chains() {
    int sum = 0, caught = 0;
    fin::finish([&](fin::scope &s) {
        s.async(adds(chain(false), sum));
        s.async([&] { sum += fin::finish(chain(false)); });
        s.async(adds(only_one(chain(false)), sum));
    });
    CHECK_EQ(sum, 3 * MANY);
    for (int i = 0; i < 2; i++) {
        try {
            fin::finish([&](fin::scope &s) {
                if (i == 0)
                    s.async(adds(chain(true), sum));
                else
                    s.async([&] { fin::finish(chain(true)); });
            });
        } catch (const std::runtime_error &) {
            caught++;
        }
    }
    CHECK(caught == 2 && alive == 0);
    fin::finish(with_a_name());
}

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 3000;
    deep(n);
    once();
    several_throw();
    chains();
    rounds = (int)(n / 30);
    against_a_cancel();
    return 0;
}

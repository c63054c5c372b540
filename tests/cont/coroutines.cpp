// SPDX-License-Identifier: BSD-2-Clause
// C++20 coroutines as AWEs: they wait for I/O, for one another and for AWEs with stacks, are cancelled, and throw.
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <fin/coro.hpp>

#include "check.h"

static std::string said;

static fin::task<> echo(int fd) {
    char buffer[64];
    for (int n; (n = co_await fin::co::recv(fd, buffer, sizeof buffer)) > 0;)
        CHECK_EQ(co_await fin::co::send(fd, buffer, static_cast<size_t>(n)), n);
    close(fd);
}

static fin::task<int> square(int n) {
    co_await fin::co::yield();
    co_return n *n;
}

static fin::task<int> sum_of_squares(int n) {
    int sum = 0;
    for (int i = 1; i <= n; i++)
        sum += co_await square(i);
    co_return sum;
}

static fin::task<> computes(int *result) { *result = co_await sum_of_squares(4); }

static uint64_t stacks() {
    fin_stats_clear();
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks_used;
}

static void with_stackful_ones() {
    int ends[2], sum = 0;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    fin_finish {
        fin_async_task(echo(ends[0]));
        fin_async_task(computes(&sum));
        fin_sleep(FIN_MS);
        if (strncmp(fin_io_backend(), "io_uring", 8) == 0)
            CHECK_EQ(stacks(), 1u); // the scheduler's; the coroutine that waits has none
        fin_async {
            char text[] = "through a coroutine", back[sizeof text];
            CHECK_EQ(fin_send_all(ends[1], text, sizeof text, 0, nullptr), 0);
            CHECK_EQ(fin_recv_all(ends[1], back, sizeof back, 0, nullptr), 0);
            CHECK(memcmp(text, back, sizeof text) == 0);
            close(ends[1]);
        };
    }
    CHECK_EQ(sum, 30);
}

static fin::task<> waits(fin_awe *&slot, const char *name) {
    int r = co_await fin::co::suspend(slot);
    said += name + std::to_string(r) + " ";
    r = co_await fin::co::sleep(UINT64_MAX);
    said += name + std::to_string(r) + " ";
}

static void cancelled() {
    fin_awe *a = nullptr, *b = nullptr;
    said.clear();
    fin::finish([&](fin::scope &s) {
        s.async(waits(a, "a"));
        s.async(waits(b, "b"));
        fin_yield();
        CHECK_EQ(fin_schedule(a), 0);
        fin_yield();
        s.cancel();
    });
    CHECK(said == "a0 b-125 a-125 b-125 " || said == "a0 a-125 b-125 b-125 ");
}

static fin::task<int> throws_late() {
    co_await fin::co::yield();
    throw std::runtime_error("late");
}

static fin::task<> catches() {
    try {
        co_await throws_late();
    } catch (const std::runtime_error &e) {
        said += e.what();
    }
}

static fin::task<> lets_it_go() { co_await throws_late(); }

static void exceptions() {
    said.clear();
    fin_finish { fin_async_task(catches()); }
    CHECK(said == "late");
    bool thrown = false;
    fin_awe *slot = nullptr;
    said.clear();
    try {
        fin_finish {
            fin_async_task(waits(slot, "other"));
            fin_async_task(lets_it_go());
        }
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    CHECK(thrown && said == "other-125 other-125 ");
}

// Calls of functions that block are allowed, and keep a stack.
static fin::task<> mixes(int *steps) {
    CHECK_EQ(fin_sleep(1), 0);
    ++*steps;
    co_await fin::co::sleep(1);
    int inner = 0;
    fin::finish([&](fin::scope &s) {
        for (int i = 0; i < 3; i++)
            s.async([&] {
                fin_yield();
                inner++;
            });
    });
    *steps += inner;
}

// Sync objects, in one line with AWEs that have stacks. A mutex is kept over other waits.
static fin_mutex m = FIN_MUTEX_INIT;
static fin_cond changed = FIN_COND_INIT;
static fin_sem sem = FIN_SEM_INIT(0);
static fin_event event = FIN_EVENT_INIT;
static int inside, counted, last;

static fin::task<> counts() {
    CHECK_EQ(co_await fin::co::lock(m), 0);
    CHECK_EQ(inside++, 0);
    CHECK_EQ(co_await fin::co::sleep(1000), 0);
    inside--;
    counted++;
    fin_mutex_unlock(&m);
    CHECK_EQ(co_await fin::co::wait(sem), 0);
    CHECK_EQ(co_await fin::co::await(event, 1), 0);
    CHECK_EQ(co_await fin::co::lock(m), 0);
    while (counted < 8)
        CHECK_EQ(co_await fin::co::wait(changed, m), 0);
    fin_mutex_unlock(&m);
    last++;
}

static fin::task<> waits_in_vain() {
    last = co_await fin::co::wait(sem);
    CHECK_EQ(co_await fin::co::await(event, 99), -ECANCELED);
}

static void sync_objects() {
    fin_finish {
        for (int i = 0; i < 4; i++)
            fin_async_task(counts());
        for (int i = 0; i < 4; i++)
            fin_async {
                fin_mutex_lock_nc(&m);
                CHECK_EQ(inside++, 0);
                fin_yield();
                inside--;
                fin_mutex_unlock(&m);
                fin_sem_post(&sem);
            };
        fin_event_advance(&event, 1);
        while (counted < 4)
            fin_sleep(1000);
        fin_mutex_lock_nc(&m);
        counted += 4;
        fin_cond_broadcast(&changed);
        fin_mutex_unlock(&m);
    }
    CHECK_EQ(last, 4);
    fin_finish {
        fin_async_task(waits_in_vain());
        fin_yield();
        fin_cancel();
    }
    CHECK_EQ(last, -ECANCELED);
}

int main() {
    with_stackful_ones();
    sync_objects();
    cancelled();
    exceptions();
    int steps = 0;
    fin_finish {
        for (int i = 0; i < 10; i++)
            fin_async_task(mixes(&steps));
        { fin::task<int> never_started = square(3); }
    }
    CHECK_EQ(steps, 40);
    CHECK_EQ(stacks(), 1u);
    return 0;
}

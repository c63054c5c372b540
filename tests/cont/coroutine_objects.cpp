// SPDX-License-Identifier: BSD-2-Clause
// Coroutines and what C++ programs have: the classes of <fin/sync.hpp> with the standard library's locks, shared with AWEs
// that have stacks and with other threads; results that are references, or made of braces. A task that is destroyed while
// it waits ends the program with a message.
#include <mutex>
#include <string>
#include <utility>

#include <fin/coro.hpp>

#include "process.h"

namespace co = fin::co;

// ---- the classes

struct shop {
    fin::mutex m;
    fin::condition_variable changed;
    fin::semaphore places{1};
    int goods = 0, sold = 0;
    bool closed = false;
};

static fin::task<> buys(shop &s) {
    CHECK_EQ(co_await co::lock(s.m), 0);
    std::lock_guard<fin::mutex> hold(s.m, std::adopt_lock);
    while (s.goods > 0 || !s.closed) {
        if (s.goods == 0) {
            CHECK_EQ(co_await co::wait(s.changed, s.m), 0);
            continue;
        }
        s.goods--;
        s.sold++;
        CHECK_EQ(co_await co::yield(), 0); // and keeps it meanwhile
        CHECK(!s.m.try_lock());
    }
}

static fin::task<> takes_place(shop &s, int *most, int *now) {
    CHECK_EQ(co_await co::wait(s.places), 0);
    *most = ++*now > *most ? *now : *most;
    CHECK_EQ(co_await co::yield(), 0);
    --*now;
    s.places.release();
}

static void classes() {
    shop s;
    int most = 0, now = 0;
    fin_finish {
        fin_async_task(buys(s));
        fin_async_task(buys(s));
        for (int i = 0; i < 5; i++)
            fin_async_task(takes_place(s, &most, &now));
        fin::thread other([&s] {
            for (int i = 0; i < 100; i++) {
                std::lock_guard<fin::mutex> hold(s.m);
                s.goods++;
                s.changed.notify_one();
            }
        });
        other.join();
        std::lock_guard<fin::mutex> hold(s.m);
        s.closed = true;
        s.changed.notify_all();
    }
    CHECK_EQ(s.sold, 100);
    CHECK(s.m.try_lock());
    CHECK_EQ(most, 1);
}

static fin::task<> is_cancelled(shop &s, int *told) {
    CHECK_EQ(co_await co::wait(s.places), -ECANCELED);
    CHECK_EQ(co_await co::lock(s.m), -ECANCELED);
    ++*told;
}

// A lock that was taken by a call is a frame's: the task must not wait with it. Nor is it told anything else.
static fin::task<> locks_itself(shop &s, int *told) {
    std::lock_guard<fin::mutex> hold(s.m);
    CHECK_EQ(co_await co::sleep(1), -EBUSY);
    ++*told;
}

static void refused() {
    shop s;
    int told = 0;
    s.places.acquire();
    fin::finish([&](fin::scope &scope) {
        scope.async(is_cancelled(s, &told));
        scope.async(locks_itself(s, &told));
        fin_yield();
        scope.cancel();
    });
    CHECK_EQ(told, 2);
}

// ---- turns, and the ends of threads

static fin::task<> in_turn(fin_queue &q, char name) {
    fin_queue_entry entry;
    fin_queue_enter(&q, &entry);
    CHECK_EQ(co_await co::await_turn(q, entry), 0);
    CHECK_EQ(co_await co::yield(), 0);
    LOG("%c ", name);
    fin_queue_leave(&q, &entry);
}

static fin::task<> waits_for(fin_thread_handle &t) {
    CHECK_EQ(co_await co::ended(t), 0);
    LOG("ended ");
    CHECK_EQ(fin_thread_join(&t), 0);
}

static void turns() {
    fin_queue q = FIN_QUEUE_INIT;
    fin::semaphore over(0);
    fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, [](void *s) { static_cast<fin::semaphore *>(s)->acquire(); }, &over), 0);
    fin_finish {
        fin_async_task(waits_for(t));
        fin_finish {
            for (char name : {'a', 'b', 'c'})
                fin_async_task(in_turn(q, name));
        }
        over.release();
    }
    CHECK_LOG("a b c ended ");
}

// ---- a slot that another thread may look at before the task waits

struct doorbell {
    fin_latch latch;
    fin_awe *who;
    bool gone;
};

static fin::task<> is_rung(doorbell &d, int times) {
    for (int i = 0; i < times; i++) {
        fin_latch_acquire(&d.latch);
        CHECK_EQ(
            co_await co::suspend(d.who, [](void *latch) { fin_latch_release(static_cast<fin_latch *>(latch)); }, &d.latch),
            0);
    }
    fin_latch_acquire(&d.latch);
    d.gone = true;
    fin_latch_release(&d.latch);
}

static void rings(void *arg) {
    auto *d = static_cast<doorbell *>(arg);
    for (bool gone = false; !gone; fin_yield()) {
        fin_latch_acquire(&d->latch);
        if (d->who)
            CHECK_EQ(fin_schedule(std::exchange(d->who, nullptr)), 0);
        gone = d->gone;
        fin_latch_release(&d->latch);
    }
}

// Under valgrind each turn of a thread that looks in vain takes milliseconds.
static void slots() {
    doorbell d{};
    fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, rings, &d), 0);
    fin_finish {
        fin_async_task(is_rung(d, on_valgrind() ? 50 : 1000));
    }
    fin_thread_join_nc(&t);
}

// ---- results

static fin::task<std::string &> the_same(std::string &s) {
    co_await co::yield();
    co_return s;
}

static fin::task<std::string &&> the_same_to_move(std::string &s) {
    co_await co::yield();
    co_return std::move(s);
}

static fin::task<std::pair<int, std::string>> of_braces() { co_return {1, "one"}; }

static fin::task<> takes(std::string &s) {
    std::string &same = co_await the_same(s);
    CHECK(&same == &s);
    std::string kept = s, moved = co_await the_same_to_move(s);
    CHECK(moved == kept && &moved != &s);
    CHECK((co_await of_braces() == std::pair<int, std::string>(1, "one")));
}

// ---- destroyed too early

static fin::task<> waits_for_ever() { co_await co::sleep(UINT64_MAX); }
static fin::task<> awaits(fin::task<> &t) { co_await std::move(t); }

static void destroys() {
    fin_finish {
        fin::task<> t = waits_for_ever();
        fin_async_task(awaits(t));
        fin_yield();
    }
}

int main() {
    char text[4096];
    if (!ON_TSAN) { // as in refused.c
        CHECK_EQ(killed_by(destroys, text, sizeof text), SIGABRT);
        CHECK(strstr(text, "a fin::task is destroyed that waits"));
    }
    classes();
    refused();
    turns();
    slots();
    std::string s = "same";
    fin_finish {
        fin_async_task(takes(s));
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A coroutine calls what may block, with co_await: what the call returns or throws, in which order things happen, and that
// what belongs to the call is there until its end and gone after it.
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <fin/coro.hpp>

#include "check.h"

namespace co = fin::co;

static int alive;
struct counted {
    counted() { alive++; }
    counted(const counted &) { alive++; }
    counted(counted &&) noexcept { alive++; }
    ~counted() { alive--; }
};

// ---- results

struct no_default {
    explicit no_default(int n) : n(n) {}
    int n;
};

FIN_BLOCKING static int doze() { return fin_sleep(1000); }
static bool called;
FIN_BLOCKING static void says_nothing() {
    fin_yield();
    called = true;
}

static fin::task<> results(int *done) {
    int n = 5;
    CHECK_EQ(co_await co::with_stack([] { return 7; }), 7);
    CHECK_EQ(co_await co::with_stack([&] { return fin_sleep(1000) + ++n; }), 6);
    CHECK_EQ(co_await co::with_stack(doze), 0);
    co_await co::with_stack(says_nothing);
    CHECK(called);
    co_await co::with_stack([&] { n++; });
    CHECK_EQ(n, 7);
    auto text = co_await co::with_stack([] {
        fin_yield();
        return std::make_unique<std::string>("only moved");
    });
    CHECK(*text == "only moved");
    CHECK_EQ((co_await co::with_stack([] { return no_default(3); })).n, 3);
    int &same = co_await co::with_stack([&n]() -> int & {
        fin_yield();
        return n;
    });
    CHECK(&same == &n);
    auto word = std::make_unique<int>(4);
    auto moved = co_await co::with_stack([&]() -> std::unique_ptr<int> && { return std::move(word); });
    CHECK(!word && *moved == 4);
    std::function<int()> any = [] { return fin_sleep(1); };
    CHECK_EQ(co_await co::with_stack(any), 0);
    fin_awe *none = co_await co::with_stack(fin_awe_self);
    CHECK(none); // the task's
    ++*done;
}

// ---- what the closure owns

static fin::task<> owns(int *done) {
    counted c;
    auto words = std::make_unique<std::string>("moved into the closure, beyond a short one's room");
    int before = alive;
    {
        auto call = [words = std::move(words), c, n = std::string(100, 'x')]() mutable {
            fin_yield();
            n += *words;
            return n.size();
        };
        CHECK_EQ(co_await co::with_stack(call), 149); // where it is
        CHECK_EQ(co_await co::with_stack(call), 198);
    }
    CHECK_EQ(alive, before);
#if defined(__clang__) || __GNUC__ >= 13
    CHECK_EQ(co_await co::with_stack([c, d = counted()] { return fin_sleep(1) + alive; }), before + 4); // moved
    CHECK_EQ(alive, before);
    auto later = co::with_stack([c] { return fin_sleep(1) + alive; });
    auto moved = std::move(later);
    CHECK_EQ(co_await std::move(moved), before + 2);
#endif
    auto never = co::with_stack([] { CHECK(false); });
    ++*done;
}

// ---- exceptions

static fin::task<int> throws(bool blocks) {
    counted c;
    co_return co_await co::with_stack([&]() -> int {
        counted local;
        if (blocks)
            fin_yield();
        throw std::runtime_error("from a call");
    });
}

static fin::task<> catches(int *done) {
    for (bool blocks : {false, true}) {
        bool caught = false;
        try {
            co_await throws(blocks);
        } catch (const std::runtime_error &e) {
            caught = strcmp(e.what(), "from a call") == 0;
        }
        CHECK(caught);
        CHECK_EQ(co_await co::sleep(1), 0); // nothing has been cancelled
        CHECK_EQ(co_await co::with_stack([] {
            try {
                fin_yield();
                throw 1;
            } catch (int n) {
                return fin_sleep(1) + n; // one in flight while it waits
            }
        }),
                 1);
    }
    ++*done;
}

static fin::task<> lets_it_go() { co_await throws(true); }

static void uncaught() {
    bool caught = false;
    try {
        fin_finish {
            fin_async_task(lets_it_go());
        }
    } catch (const std::runtime_error &) {
        caught = true;
    }
    CHECK(caught);
}

// ---- the order

static fin::task<> speaks(char name, bool blocks) {
    LOG("%c", name);
    co_await co::with_stack([=] {
        LOG("(");
        if (blocks)
            fin_yield();
        LOG(")");
    });
    LOG("%c ", name);
}

static void order() {
    fin_finish {
        fin_async_task(speaks('a', false));
        fin_async_task(speaks('b', true));
        fin_async_task(speaks('c', true));
    }
    CHECK_LOG("a()a b(c()b )c ");
}

// ---- beside a stack's ways: blocks in a call, calls in awaited tasks, a task's own mutex

static fin::task<int> nested(int depth) {
    if (depth == 0)
        co_return co_await co::with_stack([] { return fin_sleep(1); });
    int below = co_await nested(depth - 1);
    co_return co_await co::with_stack([=] {
        fin_yield();
        return below + 1;
    });
}

static fin::task<> blocks(int *done) {
    int inner = 0, ended = 0;
    bool late = co_await co::with_stack([&] {
        fin_finish {
            for (int i = 0; i < 3; i++)
                fin_async {
                    fin_yield();
                    inner++;
                };
            fin_async_task(results(&ended));
        }
        return fin::timeout(FIN_MS, [](fin::scope &) { CHECK_EQ(fin_sleep(UINT64_MAX), -ECANCELED); });
    });
    CHECK(late && inner == 3 && ended == 1);
    CHECK_EQ(co_await nested(100), 100);
    fin_mutex own = FIN_MUTEX_INIT;
    CHECK_EQ(co_await co::lock(own), 0);
    CHECK_EQ(co_await co::with_stack([&] { return fin_sleep(1) + fin_mutex_trylock(&own); }), -EBUSY);
    CHECK_EQ(co_await co::yield(), 0); // the task's, as before
    fin_mutex_unlock(&own);
    ++*done;
}

// What a call leaves locked, or has given up and locked again, is a frame's: the task cannot wait with it.
static fin_mutex m = FIN_MUTEX_INIT;
static fin_cond changed = FIN_COND_INIT;

static fin::task<> leaves_locked(int *done) {
    CHECK_EQ(co_await co::lock(m), 0);
    CHECK_EQ(co_await co::with_stack([] { return fin_cond_wait(&changed, &m); }), 0);
    CHECK_EQ(co_await co::yield(), -EBUSY);
    CHECK_EQ(co_await co::with_stack([] { return fin_sleep(1); }), 0);
    fin_mutex_unlock(&m);
    CHECK_EQ(co_await co::yield(), 0);
    co_await co::with_stack([] { fin_mutex_lock_nc(&m); });
    CHECK_EQ(co_await co::yield(), -EBUSY);
    fin_mutex_unlock(&m);
    CHECK_EQ(co_await co::yield(), 0);
    ++*done;
}

static void signals_it() {
    fin_mutex_lock_nc(&m);
    fin_cond_signal(&changed);
    fin_mutex_unlock(&m);
}

// ---- the stack: a call is at its base however many tasks await, and leaves nothing there

static fin::task<void *> frame_below(int depth) {
    if (depth > 0)
        co_return co_await frame_below(depth - 1);
    co_return co_await co::with_stack([]() __attribute__((noinline)) { return __builtin_frame_address(0); });
}

static fin::task<> compares(int *done) {
    void *alone = co_await frame_below(0), *nested = co_await frame_below(10);
    CHECK(alone == nested);
    ++*done;
}

static fin::task<> often(long n, long *sum) {
    for (long i = 0; i < n; i++)
        *sum += co_await co::with_stack([] { return 1; });
}

int main() {
    int done = 0;
    fin_finish {
        fin_async_task(results(&done));
        fin_async_task(owns(&done));
        fin_async_task(catches(&done));
        fin_async_task(blocks(&done));
        fin_async_task(compares(&done));
        fin_async_task(leaves_locked(&done));
        fin_yield();
        signals_it();
    }
    CHECK_EQ(done, 6);
    uncaught();
    order();
    long sum = 0;
    fin::finish([&](fin::scope &s) { s.async(often(100000, &sum)); });
    CHECK_EQ(sum, 100000);
    CHECK_EQ(alive, 0);
    return 0;
}

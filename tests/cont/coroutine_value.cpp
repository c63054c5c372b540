// SPDX-License-Identifier: BSD-2-Clause
// A function waits for a task and gets its value or exception; others of the thread run meanwhile, and a cancel reaches it.
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>

#include <fin/coro.hpp>

#include "check.h"

static int shared;

static fin::task<int> later(int n) {
    CHECK_EQ(co_await fin::co::sleep(1), 0);
    if (n < 0)
        throw std::runtime_error("negative");
    co_return n;
}
static fin::task<std::unique_ptr<int>> owned(int n) { co_return std::make_unique<int>(n); }
static fin::task<int &> reference() {
    co_await fin::co::yield();
    co_return shared;
}
// References that are made of something else, and bind to it: nothing temporary.
struct base {
    int n = 1;
};
struct derived : base {};
struct converts {
    const derived &to;
    operator const derived &() const { return to; }
};
static fin::task<const base &> as_base(derived &d) { co_return d; }
static fin::task<const int &> unwrapped(std::reference_wrapper<int> r) { co_return r; }
static fin::task<const derived &> converted(const derived &d) { co_return converts{d}; }
static fin::task<> nothing() { co_return; }
static fin::task<int> sleeps() { co_return co_await fin::co::sleep(FIN_S); }

static void values() {
    CHECK_EQ(fin::finish(later(3)), 3);
    CHECK_EQ(*fin::finish(owned(5)), 5);
    fin::finish(reference()) = 4;
    CHECK_EQ(shared, 4);
    fin::finish(nothing());
    auto t = later(7);
    CHECK_EQ(fin::finish(std::move(t)), 7);
}

static fin::task<void (&)()> function() { co_return values; }

static void references() {
    derived d;
    CHECK(&fin::finish(as_base(d)) == &d);
    CHECK(&fin::finish(unwrapped(shared)) == &shared);
    CHECK(&fin::finish(converted(d)) == &d);
    CHECK(&fin::finish(function()) == values);
}

static void exceptions() {
    int caught = 0;
    try {
        fin::finish(later(-1));
    } catch (const std::runtime_error &) {
        caught++;
    }
    auto t = later(1), taken = std::move(t);
    try {
        fin::finish(std::move(t));
    } catch (const std::logic_error &) {
        caught++;
    }
    CHECK_EQ(caught, 2);
}

static void among_others() {
    int result = 0;
    fin_finish {
        fin_async {
            int n = fin::finish(later(6));
            LOG("%d ", n);
        };
        fin_async { result = fin::finish(sleeps()); };
        LOG("meanwhile ");
        CHECK_EQ(fin::finish(later(8)), 8);
        fin_cancel();
    }
    CHECK_LOG("meanwhile 6 ");
    CHECK_EQ(result, -ECANCELED);
}

int main() {
    values();
    references();
    exceptions();
    among_others();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Parameters of coroutines may be of any type, also of one that converts to whatever is wanted: none becomes a promise.
#include <memory>

#include <fin/coro.hpp>

#include "check.h"

struct converts {
    int n;
    template <class T> operator T() const {
        CHECK(!"converted");
        return *static_cast<T *>(nullptr);
    }
};

struct object {
    int n;
    fin::task<int> adds(converts c) const {
        co_await fin::co::yield();
        co_return n + c.n;
    }
};

static int shared = 5;

static fin::task<> nothing(int &n, converts c) {
    co_await fin::co::yield();
    n += c.n;
}
static fin::task<int> one(converts c) { co_return c.n; }
static fin::task<int> two(converts c, const converts &d) { co_return c.n + d.n; }
static fin::task<int &> reference(converts) { co_return shared; }
static fin::task<int> moved(std::unique_ptr<int> p, converts &&c) { co_return *p + c.n; }
static fin::task<> only(converts) { co_return; }

int main() {
    int n = 0;
    fin::finish(nothing(n, converts{1}));
    CHECK_EQ(n, 1);
    fin::finish(only(converts{1}));
    CHECK_EQ(fin::finish(one(converts{2})), 2);
    CHECK_EQ(fin::finish(two(converts{2}, converts{3})), 5);
    CHECK(&fin::finish(reference(converts{2})) == &shared);
    CHECK_EQ(fin::finish(moved(std::make_unique<int>(4), converts{3})), 7);
    CHECK_EQ(fin::finish(object{6}.adds(converts{3})), 9);
    auto closure = [&](converts c) -> fin::task<int> { co_return n + c.n; };
    CHECK_EQ(fin::finish(closure(converts{3})), 4);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// What a task returns is of a type of the program's, in whose namespace functions have names that Fin uses inside: those are
// not called, and do not make a call ambiguous. Nor is the type's own operator & taken, nor a comma operator for any two
// operands; and no parameter that converts to whatever is wanted becomes a promise.
#include <memory>
#include <vector>

#include <fin/co_all.hpp>

#include "check.h"

namespace app {

struct value {
    int n = 0;
    value *operator&() const { return nullptr; }
};

void never() { CHECK(!"called by Fin"); }

template <class T> T result_of(fin::task<T> &) { never(); }
template <class T> T finish(fin::task<T> &&) { never(); }
template <class T, class U> T exchange(T &, U &&) { never(); }
template <class... T> void go_on(T &&...) { never(); }
template <class... T> void with_stack(T &&...) { never(); }
template <class... T> void offload(T &&...) { never(); }
template <class... T> void start_task(T &&...) { never(); }

static fin::task<value> gives(int n) {
    co_await fin::co::yield();
    co_return value{n};
}

static fin::task<int> sum() {
    auto [a, b] = co_await fin::co::when_all(gives(1), gives(2));
    auto first = co_await fin::co::when_any(gives(3), gives(4));
    std::vector<fin::task<value>> more;
    more.push_back(gives(5));
    auto all = co_await fin::co::when_all(std::move(more));
    auto stack = co_await fin::co::with_stack([] { return value{6}; });
    auto pool = co_await fin::co::offload([] { return value{7}; });
    co_return a.n + b.n + std::get<0>(first).n + all[0].n + stack.n + pool.n;
}

} // namespace app

namespace commas {

struct value {
    int n;
};

template <class First, class Second> int operator,(First &&, Second &&) {
    CHECK(!"called by Fin");
    return 0;
}

static int value_on(value *v, fin_on *on, fin_cont *cont, const void *state, size_t size) {
    v->n++;
    return fin_sleep_on(on, 1, cont, state, size);
}

static fin::task<value> gives(int n) {
    co_await fin::co::yield();
    co_return value{n};
}

static fin::task<int> sum() {
    auto first = co_await fin::co::when_any(gives(1), gives(2));
    auto [a, b] = co_await fin::co::when_all(gives(2), gives(4));
    value v{7};
    CHECK_EQ(co_await fin::co::wait_on<value_on>(&v), 0);
    co_return std::get<0>(first).n + a.n + b.n + v.n;
}

} // namespace commas

namespace parameters {

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

static void of_any_type() {
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
}

} // namespace parameters

int main() {
    CHECK_EQ(fin::finish(app::sum()), 1 + 2 + 3 + 5 + 6 + 7);
    CHECK_EQ(fin::finish(commas::sum()), 1 + 2 + 4 + 8);
    parameters::of_any_type();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// What a task returns is of a type of the program's, in whose namespace functions have names that Fin uses inside: those are
// not called, and do not make a call ambiguous. Nor is the type's own operator & taken.
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

int main() {
    CHECK_EQ(fin::finish(app::sum()), 1 + 2 + 3 + 5 + 6 + 7);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A namespace of the program's has a comma operator for any two operands: where Fin's templates have a comma between what is
// made of the program's types, it is not called.
#include <fin/co_all.hpp>

#include "check.h"

namespace app {

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

} // namespace app

int main() {
    CHECK_EQ(fin::finish(app::sum()), 1 + 2 + 4 + 8);
    return 0;
}

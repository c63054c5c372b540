// SPDX-License-Identifier: BSD-2-Clause
// <complex.h> may come first, which in GNU's C++ defines I, as in C.
#include <complex.h>

#include <fin/co_all.hpp>

#include "check.h"

static fin::task<int> gives(int n) {
    co_await fin::co::yield();
    co_return n;
}

static fin::task<int> first() {
    auto [a, b] = co_await fin::co::when_all(gives(1), gives(2));
    auto any = co_await fin::co::when_any(gives(3), gives(4));
    co_return a + b + std::get<0>(any);
}

int main() {
    CHECK_EQ(fin::finish(first()), 6);
    return 0;
}

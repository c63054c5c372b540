// SPDX-License-Identifier: BSD-2-Clause
// A body of a scope that takes any arguments gets none.
#include <fin.hpp>

#include "check.h"

static int sum(int a, int b) { return a + b; }

int main() {
    int n = 0;
    fin::finish([&](fin::scope &s) {
        s.async([&](auto... none) { n += 1 + static_cast<int>(sizeof...(none)); });
        s.async([&](auto &&...none) { n += sum(10, none..., 20); });
    });
    CHECK_EQ(n, 31);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A body of a scope that starts the next one and ends leaves nothing behind, however long that goes on: neither where its
// successor blocks first nor where it does.
#include <cstdio>
#include <cstdlib>

#include <fin.hpp>

#include "check.h"

static long left;

static FIN_BLOCKING void task(fin::scope &s, bool again) {
    fin_yield();
    if (--left > 0)
        s.async([&s, again] { task(s, again); });
    if (again)
        fin_yield();
}

static uint64_t stacks() {
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks;
}

int main() {
    fin::finish([](fin::scope &s) { s.async([] { fin_yield(); }); });
    uint64_t before = stacks();
    for (bool again : {false, true}) {
        left = 1000;
        fin::finish([again](fin::scope &s) { s.async([&s, again] { task(s, again); }); });
        CHECK_EQ(left, 0);
    }
    CHECK_EQ(stacks(), before);
    return 0;
}

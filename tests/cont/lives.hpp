// SPDX-License-Identifier: BSD-2-Clause
// For scenarios that ask whether tasks have ended: how many are alive; and one that a cancel does not end at once.
#ifndef FIN_TESTS_LIVES_HPP
#define FIN_TESTS_LIVES_HPP

#include <fin/coro.hpp>

#include "check.h"

static int alive;
struct lives {
    lives() { alive++; }
    ~lives() { alive--; }
};

// Goes on for a while after the cancel.
static fin::task<int> ends_late() {
    lives here;
    CHECK_EQ(co_await fin::co::sleep(UINT64_MAX), -ECANCELED);
    fin::co::finish_nc shielded;
    CHECK_EQ(co_await fin::co::sleep(FIN_MS), 0);
    co_await shielded.end();
    co_return 1;
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// fin_timeout and fin::timeout in C++, with exceptions: one that leaves the block ends its work and goes on.
#include <stdexcept>

#include <fin.hpp>

#include "check.h"

static constexpr uint64_t forever = 3600 * FIN_S;

static void words() {
    int n = 1, m = 1;
    fin_timeout(FIN_MS) {
        fin_async { n = fin_sleep(forever); };
        m = fin_sleep(forever);
    }
    CHECK(fin_timed_out());
    CHECK_EQ(n, -ECANCELED);
    CHECK_EQ(m, -ECANCELED);
    fin_timeout(forever) {
        fin_async { n = fin_sleep(1); };
    }
    CHECK(!fin_timed_out());
    CHECK_EQ(n, 0);
    fin_timeout(0) {
        m = fin_sleep(1);
    }
    CHECK(fin_timed_out());
    CHECK_EQ(m, -ECANCELED);
}

static int leave_by_return(int &n) {
    fin_timeout(forever) {
        fin_async { n = fin_sleep(1); };
        return 5;
    }
    return 6;
}

static void left() {
    int n = 1;
    CHECK_EQ(leave_by_return(n), 5);
    CHECK_EQ(n, 0);
    for (int i = 0; i < 2; i++) {
        n = 1;
        fin_timeout(FIN_MS) {
            fin_async { n = fin_sleep(forever); };
            break;
        }
        CHECK_EQ(n, -ECANCELED);
    }
}

static void thrown() {
    int n = 1, caught = 0;
    try {
        fin_timeout(forever) {
            fin_async { n = fin_sleep(forever); };
            throw std::runtime_error("from the block");
        }
    } catch (const std::runtime_error &) {
        caught++;
    }
    CHECK_EQ(n, -ECANCELED);
    try {
        fin_timeout(FIN_MS) {
            fin_async { fin::check(fin_sleep(forever)); };
        }
    } catch (const std::system_error &e) {
        CHECK_EQ(e.code().value(), ECANCELED);
        caught++;
    }
    CHECK(fin_timed_out());
    CHECK_EQ(caught, 2);
}

static void functions() {
    int n = 1;
    CHECK(fin::timeout(FIN_MS, [&](fin::scope &s) { s.async([&] { n = fin_sleep(forever); }); }));
    CHECK_EQ(n, -ECANCELED);
    CHECK(!fin::timeout(forever, [&](fin::scope &) { n = fin_sleep(1); }));
    CHECK_EQ(n, 0);
    CHECK(fin::deadline(fin_now() + FIN_MS, [&](fin::scope &s) { s.async([&] { n = fin_sleep(forever); }); }));
    CHECK_EQ(n, -ECANCELED);
    fin_deadline(fin_now()) {
        fin_async { n = fin_sleep(0) + 1; };
    }
    CHECK(fin_timed_out());
    CHECK_EQ(n, 1 - ECANCELED);
}

int main() {
    for (int i = 0; i < 3; i++) {
        words();
        left();
        thrown();
        functions();
    }
    return 0;
}

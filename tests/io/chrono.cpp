// SPDX-License-Identifier: BSD-2-Clause
// Times of <chrono>: what they are in nanoseconds, and that sleeps and limits take them.
#include <chrono>
#include <limits>

#include <fin.hpp>

#include "check.h"

using namespace std::chrono_literals;
namespace chrono = std::chrono;

// ---- durations

template <class Rep, class Period = std::ratio<1>> using duration = chrono::duration<Rep, Period>;

static_assert(fin::ns(0s) == 0 && fin::ns(1ns) == 1 && fin::ns(10ms) == 10 * FIN_MS && fin::ns(2h) == 7200 * FIN_S);
static_assert(fin::ns(5) == 5 && fin::ns(FIN_S) == FIN_S && fin::ns(UINT64_MAX) == UINT64_MAX);
static_assert(fin::ns(-1ns) == 0 && fin::ns(-2h) == 0);
// Rounded up, and down only to what is less than nothing.
static_assert(fin::ns(duration<int, std::pico>(1)) == 1 && fin::ns(duration<int, std::pico>(2000)) == 2);
static_assert(fin::ns(duration<int, std::pico>(2001)) == 3 && fin::ns(duration<int, std::pico>(-1)) == 0);
static_assert(fin::ns(duration<int, std::ratio<1, 3>>(1)) == 333333334);
static_assert(fin::ns(duration<double>(0.1)) == 100 * FIN_MS && fin::ns(duration<float>(0.5f)) == 500 * FIN_MS);
static_assert(fin::ns(duration<double, std::nano>(1.5)) == 2 && fin::ns(duration<double, std::nano>(-0.5)) == 0);
// The longest.
static_assert(fin::ns(duration<int64_t>(9000000000)) == 9000000000 * FIN_S);
static_assert(fin::ns(duration<int64_t>(9200000000)) == UINT64_MAX && fin::ns(duration<int64_t>(-9200000000)) == 0);
static_assert(fin::ns(chrono::nanoseconds::max()) == UINT64_MAX && fin::ns(chrono::nanoseconds::min()) == 0);
static_assert(fin::ns(chrono::hours::max()) == UINT64_MAX && fin::ns(chrono::hours::min()) == 0);
static_assert(fin::ns(duration<int64_t, std::exa>(INT64_MAX)) == UINT64_MAX);
static_assert(fin::ns(duration<uint64_t, std::atto>(UINT64_MAX)) == 18446744074);
static_assert(fin::ns(duration<int64_t, std::ratio<INT64_MAX - 1, INT64_MAX>>(9100000000)) == 9099999999'000000000 + FIN_S);
static_assert(fin::ns(duration<double>(1e300)) == UINT64_MAX && fin::ns(duration<double>(-1e300)) == 0);
static_assert(fin::ns(duration<double>(std::numeric_limits<double>::infinity())) == UINT64_MAX);

// ---- points in time

// A clock that says what the test does.
struct hands {
    using rep = int64_t;
    using period = std::milli;
    using duration = chrono::duration<rep, period>;
    using time_point = chrono::time_point<hands>;
    static constexpr bool is_steady = false;
    static inline rep show = 0;
    static time_point now() { return time_point(duration(show)); }
};

static void points() {
    for (int64_t now : {INT64_C(0), INT64_C(1000000), INT64_C(-1000000)}) {
        hands::show = now;
        uint64_t before = fin_now(), at = fin::when(hands::now() + 20s);
        CHECK(at >= before + 20 * FIN_S && at <= fin_now() + 20 * FIN_S);
        CHECK_EQ(fin::when(hands::now()), 0);
        CHECK_EQ(fin::when(hands::now() - 1ns), 0);
        CHECK_EQ(fin::when(hands::time_point::min()), 0);
        CHECK(fin::when(hands::time_point::max()) == UINT64_MAX);
    }
    CHECK_EQ(fin::when(UINT64_C(5)), 5);
    hands::show = std::numeric_limits<int64_t>::min();
    CHECK(fin::when(hands::time_point(1h)) > fin_now() + 9 * UINT64_C(1000000000) * FIN_S);
    CHECK_EQ(fin::when(chrono::system_clock::time_point()), 0);
    CHECK(fin::when(chrono::steady_clock::time_point::max()) == UINT64_MAX);
    CHECK(fin::when(chrono::time_point<chrono::system_clock, chrono::hours>::max()) == UINT64_MAX);
}

// ---- what waits

static void sleeps() {
    uint64_t before = fin_now();
    CHECK_EQ(fin::sleep_for(2ms), 0);
    CHECK(fin_now() >= before + 2 * FIN_MS);
    auto at = chrono::steady_clock::now() + 2ms;
    CHECK_EQ(fin::sleep_until(at), 0);
    CHECK(chrono::steady_clock::now() >= at);
    CHECK_EQ(fin::sleep_until(chrono::system_clock::now() - 1h), 0);
    CHECK_EQ(fin::sleep_for(-1h), 0);
    int errors = 0;
    fin_finish {
        fin_async { errors += fin::sleep_for(chrono::hours::max()) == -ECANCELED; };
        fin_async { errors += fin::sleep_until(chrono::system_clock::now() + 1h) == -ECANCELED; };
        fin_cancel();
    }
    CHECK_EQ(errors, 2);
}

static void limits() {
    int result = 1;
    fin_timeout(1ms) { result = fin_sleep(UINT64_MAX); }
    CHECK(fin_timed_out() && result == -ECANCELED);
    fin_deadline(chrono::steady_clock::now() + 1ms) { result = fin_sleep(UINT64_MAX); }
    CHECK(fin_timed_out() && result == -ECANCELED);
    fin_timeout(1h) { result = fin_sleep(1); }
    CHECK(!fin_timed_out() && result == 0);
    fin_timeout(duration<double, std::milli>(0.5)) { result = fin_sleep(UINT64_MAX); } // a comma outside parentheses
    CHECK(fin_timed_out() && result == -ECANCELED);
    fin_deadline(chrono::time_point<chrono::steady_clock, chrono::hours>(0h)) { result = fin_sleep(UINT64_MAX); }
    CHECK(fin_timed_out() && result == -ECANCELED);
    fin_timeout(5) { result = fin_sleep(UINT64_MAX); }
    CHECK(fin_timed_out() && result == -ECANCELED);
    auto waits = [&](fin::scope &) { result = fin_sleep(UINT64_MAX); };
    auto ends = [&](fin::scope &) { result = fin_sleep(1); };
    CHECK(fin::timeout(1ms, waits) && result == -ECANCELED);
    CHECK(!fin::timeout(1h, ends) && result == 0);
    CHECK(fin::deadline(chrono::system_clock::now() + 1ms, waits) && result == -ECANCELED);
    CHECK(!fin::deadline(chrono::steady_clock::time_point::max(), ends) && result == 0);
    bool caught = false;
    try {
        fin::timeout(1h, [&](fin::scope &s) {
            s.async([&] { result = fin::sleep_for(1h); });
            throw 5;
        });
    } catch (int) {
        caught = true;
    }
    CHECK(caught && result == -ECANCELED);
}

int main() {
    CHECK_EQ(fin::ns(duration<double>(std::numeric_limits<double>::quiet_NaN())), 0);
    points();
    sleeps();
    limits();
    return 0;
}

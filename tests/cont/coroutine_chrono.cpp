// SPDX-License-Identifier: BSD-2-Clause
// Coroutines sleep for durations of <chrono> and until its points in time, and have limits of both.
#include <chrono>
#include <sys/socket.h>
#include <unistd.h>

#include <fin/coro.hpp>

#include "check.h"

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
namespace co = fin::co;

static fin::task<> sleeps() {
    auto at = steady::now() + 2ms;
    CHECK_EQ(co_await co::sleep(2ms), 0);
    CHECK(steady::now() >= at);
    at = steady::now() + 2ms;
    CHECK_EQ(co_await co::sleep_until(at), 0);
    CHECK(steady::now() >= at);
    CHECK_EQ(co_await co::sleep_until(std::chrono::system_clock::now() - 1h), 0);
    uint64_t before = fin_now();
    CHECK_EQ(co_await co::sleep_until(std::chrono::file_clock::now() + 2ms), 0); // its epoch may be to come
    CHECK(fin_now() >= before + 2 * FIN_MS);
    int fds[2];
    char c;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    at = steady::now() + 2ms;
    CHECK_EQ(co_await co::send_at(at, fds[0], "", 1), 1);
    CHECK(steady::now() >= at);
    CHECK_EQ(co_await co::recv(fds[1], &c, 1), 1);
    close(fds[0]);
    close(fds[1]);
}

static fin::task<> limits() {
    co::timeout first(1ms);
    CHECK_EQ(co_await co::sleep(1h), -ECANCELED);
    CHECK(co_await first.end());
    co::timeout second(1h);
    CHECK_EQ(co_await co::sleep(1ns), 0);
    CHECK(!co_await second.end());
    co::deadline third(steady::now() + 1ms);
    CHECK_EQ(co_await co::sleep_until(steady::time_point::max()), -ECANCELED);
    CHECK(co_await third.end());
}

int main() {
    fin::finish([](fin::scope &s) {
        s.async(sleeps());
        s.async(limits());
    });
    return 0;
}

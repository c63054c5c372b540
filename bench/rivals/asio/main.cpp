// SPDX-License-Identifier: BSD-2-Clause
// Boost.Asio's coroutines: a million that wait for a timer, then are woken, each by cancelling its timer; and
// spawn-and-join of one that does nothing.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <utility>

#include <boost/asio.hpp>
#include <boost/version.hpp>

#include "../../memory.h"

namespace asio = boost::asio;
using clock_type = std::chrono::steady_clock;

static long peak_kib() { return memory_kib("VmHWM:"); }

static long long since(clock_type::time_point start) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(clock_type::now() - start).count();
}

static std::deque<asio::steady_timer> timers;

static asio::awaitable<void> waits(asio::steady_timer &t) {
    boost::system::error_code error;
    co_await t.async_wait(asio::redirect_error(asio::use_awaitable, error));
}

static asio::awaitable<void> nothing() { co_return; }

static void million(long n) {
    asio::io_context io(1);
    long before = peak_kib();
    auto start = clock_type::now();
    for (long i = 0; i < n; i++) {
        timers.emplace_back(io, clock_type::time_point::max());
        asio::co_spawn(io, waits(timers.back()), asio::detached);
    }
    io.poll(); // all of them begin, and wait
    long long created = since(start);
    long peak = peak_kib();
    start = clock_type::now();
    for (auto &t : timers)
        t.cancel();
    io.run();
    std::printf("%lld %lld %ld\n", created, since(start), peak - before);
    timers.clear();
}

static void spawn(long n) {
    asio::io_context io(1);
    auto start = clock_type::now();
    for (long i = 0; i < n; i++) {
        asio::co_spawn(io, nothing(), asio::detached);
        io.restart();
        io.run();
    }
    std::printf("%f\n", static_cast<double>(since(start)) / static_cast<double>(n));
}

int main(int argc, char **argv) {
    long n = argc > 2 ? std::atol(argv[2]) : 1000;
    if (argc > 1 && std::strcmp(argv[1], "million") == 0)
        million(n);
    else if (argc > 1 && std::strcmp(argv[1], "spawn") == 0)
        spawn(n);
    else
        std::puts(BOOST_LIB_VERSION);
    return 0;
}

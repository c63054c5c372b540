// SPDX-License-Identifier: BSD-2-Clause
// Boost.Fiber: a million fibers blocked on a condition variable, then finished; and spawn-and-join of an empty fiber.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include <boost/fiber/all.hpp>
#include <boost/version.hpp>

#include "../../memory.h"

using clock_type = std::chrono::steady_clock;
namespace fibers = boost::fibers;

static long peak_kib() { return memory_kib("VmHWM:"); }

static long long since(clock_type::time_point start) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(clock_type::now() - start).count();
}

// Stacks of Fin's size, without guard pages: with them the system's mappings are used up at 32,749 fibers.
constexpr std::size_t stack_size = 64 * 1024;

static void million(long n) {
    fibers::mutex mutex;
    fibers::condition_variable gate;
    bool open = false;
    std::vector<fibers::fiber> all;
    long before = peak_kib();
    auto start = clock_type::now();
    all.reserve(static_cast<std::size_t>(n));
    for (long i = 0; i < n; i++)
        all.emplace_back(fibers::launch::dispatch, std::allocator_arg, fibers::fixedsize_stack(stack_size), [&] {
            std::unique_lock<fibers::mutex> lock(mutex);
            gate.wait(lock, [&] { return open; });
        });
    long long created = since(start);
    long peak = peak_kib();
    start = clock_type::now();
    {
        std::unique_lock<fibers::mutex> lock(mutex);
        open = true;
    }
    gate.notify_all();
    for (auto &fiber : all)
        fiber.join();
    std::printf("%lld %lld %ld\n", created, since(start), peak - before);
}

static void spawn(long n) {
    auto start = clock_type::now();
    for (long i = 0; i < n; i++)
        fibers::fiber(fibers::launch::dispatch, std::allocator_arg, fibers::fixedsize_stack(stack_size), [] {}).join();
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

// SPDX-License-Identifier: BSD-2-Clause
// co::when_all: what all tasks return; the first exception cancels the others, which have ended before it is thrown.
#include <memory>
#include <stdexcept>
#include <string>

#include <fin/co_all.hpp>

#include "check.h"

namespace co = fin::co;

static int alive;
struct lives {
    lives() { alive++; }
    ~lives() { alive--; }
};

template <class T> static fin::task<T> gives(T value, uint64_t ns = 1) {
    lives here;
    co_await co::sleep(ns);
    co_return std::move(value);
}
static fin::task<> nothing() {
    lives here;
    co_await co::yield();
}
static fin::task<int &> same(int &n) {
    co_await co::yield();
    co_return n;
}
static fin::task<int> sleeps(uint64_t ns) {
    lives here;
    int error = co_await co::sleep(ns);
    co_return error;
}
static fin::task<int> throws(const char *what, uint64_t ns) {
    lives here;
    fin::check(co_await co::sleep(ns));
    throw std::runtime_error(what);
}

static fin::task<> values(int &done) {
    int n = 4;
    auto [a, b, c, d] = co_await co::when_all(gives(3, FIN_MS), gives(std::string(100, 'x')), nothing(), same(n));
    static_assert(std::is_same_v<decltype(c), std::monostate>);
    CHECK(a == 3 && b == std::string(100, 'x') && &d == &n);
    CHECK_EQ(alive, 0);
    auto named = gives(std::make_unique<int>(5));
    auto [only] = co_await co::when_all(std::move(named));
    CHECK_EQ(*only, 5);
    CHECK(co_await co::when_all() == std::tuple<>());
    co_await co::when_all(nothing(), nothing());
    auto [outer, inner] = co_await co::when_all(gives(1), co::when_all(gives(2), gives(3)));
    CHECK(outer == 1 && inner == std::tuple(2, 3));
    done++;
}

static fin::task<> many(int &done) {
    std::vector<fin::task<int>> tasks;
    for (int i = 0; i < 100; i++)
        tasks.push_back(gives(i, FIN_MS + static_cast<uint64_t>(100 - i) * 1000));
    std::vector<int> all = co_await co::when_all(std::move(tasks));
    CHECK_EQ(all.size(), 100);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(all[static_cast<size_t>(i)], i);
    CHECK((co_await co::when_all(std::vector<fin::task<>>())).empty());
    done++;
}

static fin::task<> exceptions(int &done) {
    std::string caught;
    int before = alive;
    try {
        co_await co::when_all(sleeps(UINT64_MAX), throws("first", 2 * FIN_MS), throws("cancelled", UINT64_MAX));
    } catch (const std::runtime_error &e) {
        caught = e.what();
    }
    CHECK(caught == "first" && alive == before);
    std::vector<fin::task<int>> tasks;
    tasks.push_back(throws("of many", 1));
    tasks.push_back(sleeps(UINT64_MAX));
    try {
        co_await co::when_all(std::move(tasks));
    } catch (const std::runtime_error &e) {
        caught = e.what();
    }
    CHECK(caught == "of many" && alive == before);
    bool refused = false;
    auto given_away = sleeps(1), taken = std::move(given_away);
    try {
        co_await co::when_all(sleeps(UINT64_MAX), std::move(given_away));
    } catch (const std::logic_error &) {
        refused = true;
    }
    CHECK(refused && alive == before);
    CHECK_EQ(co_await co::sleep(1), 0); // nothing else has been cancelled
    done++;
}

static fin::task<> both_in(bool &one_ended, int &never, int &at_once) {
    auto sleeps_and_says = [](bool &ended) -> fin::task<int> {
        int error = co_await co::sleep(0);
        ended = true;
        co_return error;
    };
    std::tie(never, at_once) = co_await co::when_all(sleeps(UINT64_MAX), sleeps_and_says(one_ended));
}

static fin::task<> cancelled(int &done) {
    bool one_ended = false;
    int never = 0, at_once = -1;
    co::finish block;
    block.async(both_in(one_ended, never, at_once));
    while (!one_ended)
        co_await co::yield();
    block.cancel();
    co_await block.end();
    CHECK(never == -ECANCELED && at_once == 0 && alive == 0);
    done++;
}

// Given away, and never awaited.
static void dropped() {
    { auto t = co::when_all(sleeps(1), nothing()); }
    CHECK_EQ(alive, 0);
}

int main() {
    int done = 0;
    for (auto test : {values, many, exceptions, cancelled})
        fin::finish(test(done));
    CHECK_EQ(done, 4);
    dropped();
    auto [a, b] = fin::finish(co::when_all(gives(1), gives(2))); // from a function
    CHECK(a == 1 && b == 2 && alive == 0);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// co::when_any: which task ended first, and with what; the others are cancelled, and have ended before it returns.
#include <memory>
#include <stdexcept>
#include <string>

#include <fin/co_all.hpp>

#include "lives.hpp"

namespace co = fin::co;

static int cancelled_tasks;

template <class T> static fin::task<T> gives(T value, uint64_t ns) {
    lives here;
    cancelled_tasks += co_await co::sleep(ns) == -ECANCELED;
    co_return std::move(value);
}
static fin::task<> nothing(uint64_t ns) {
    lives here;
    cancelled_tasks += co_await co::sleep(ns) == -ECANCELED;
}
static fin::task<int> throws(uint64_t ns) {
    lives here;
    fin::check(co_await co::sleep(ns));
    throw std::runtime_error("thrown");
}

static fin::task<> first(int &done) {
    auto a = co_await co::when_any(gives(1, UINT64_MAX), gives(std::string("two"), 1), nothing(UINT64_MAX));
    CHECK(a.index() == 1 && std::get<1>(a) == "two" && cancelled_tasks == 2 && alive == 0);
    auto b = co_await co::when_any(nothing(1), gives(std::make_unique<int>(2), UINT64_MAX));
    CHECK(b.index() == 0 && alive == 0);
    auto c = co_await co::when_any(gives(3, UINT64_MAX), gives(4, 1)); // of the same type
    CHECK(c.index() == 1 && std::get<1>(c) == 4);
    auto d = co_await co::when_any(gives(5, 1));
    CHECK(d.index() == 0 && std::get<0>(d) == 5);
    auto e = co_await co::when_any(ends_late(), gives(6, 1));
    CHECK(e.index() == 1 && alive == 0);
    done++;
}

static int shared_number;

static fin::task<int &> refers(uint64_t ns) {
    co_await co::sleep(ns);
    co_return shared_number;
}

static fin::task<> of_references(int &done) {
    std::vector<fin::task<int &>> tasks;
    tasks.push_back(refers(UINT64_MAX));
    tasks.push_back(refers(1));
    auto result = co_await co::when_any(std::move(tasks));
    CHECK(result.first == 1 && &result.second == &shared_number);
    done++;
}

static fin::task<> of_many(int &done) {
    std::vector<fin::task<std::string>> tasks;
    for (size_t i = 0; i < 100; i++)
        tasks.push_back(gives(std::string(i, 'x'), i == 70 ? 1 : UINT64_MAX));
    cancelled_tasks = 0;
    auto [which, value] = co_await co::when_any(std::move(tasks));
    CHECK(which == 70 && value == std::string(70, 'x') && cancelled_tasks == 99 && alive == 0);
    std::vector<fin::task<>> without_values;
    without_values.push_back(nothing(UINT64_MAX));
    without_values.push_back(nothing(1));
    CHECK((co_await co::when_any(std::move(without_values))).first == 1);
    bool refused = false;
    try {
        co_await co::when_any(std::vector<fin::task<int>>());
    } catch (const std::logic_error &) {
        refused = true;
    }
    CHECK(refused);
    std::vector<fin::task<int>> throwing;
    throwing.push_back(gives(1, UINT64_MAX));
    throwing.push_back(throws(1));
    std::string caught;
    try {
        co_await co::when_any(std::move(throwing));
    } catch (const std::runtime_error &e) {
        caught = e.what();
    }
    CHECK(caught == "thrown" && alive == 0);
    done++;
}

static fin::task<> exceptions(int &done) {
    bool caught = false;
    try {
        co_await co::when_any(gives(1, UINT64_MAX), throws(1));
    } catch (const std::runtime_error &) {
        caught = true;
    }
    CHECK(caught && alive == 0);
    auto a = co_await co::when_any(throws(UINT64_MAX), gives(2, 1)); // what a loser throws is lost
    CHECK(a.index() == 1 && std::get<1>(a) == 2 && alive == 0);
    bool refused = false;
    auto given_away = throws(1), taken = std::move(given_away);
    try {
        co_await co::when_any(gives(1, UINT64_MAX), std::move(given_away));
    } catch (const std::logic_error &) {
        refused = true;
    }
    CHECK(refused && alive == 0);
    CHECK_EQ(co_await co::sleep(1), 0); // nothing else has been cancelled
    done++;
}

static fin::task<> cancelled(int &done) {
    cancelled_tasks = 0;
    co::timeout limit(FIN_MS);
    co_await co::when_any(gives(1, UINT64_MAX), nothing(UINT64_MAX));
    CHECK_EQ(cancelled_tasks, 2);
    CHECK(co_await limit.end());
    done++;
}

int main() {
    int done = 0;
    for (auto test : {first, of_references, of_many, exceptions, cancelled})
        fin::finish(test(done));
    CHECK(done == 5 && alive == 0);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Tasks that are given others as parameters, one in the other, however many: their frames end one by one, each when its
// result is there, and not all at once, one destructor inside the other, when the outermost ends.
#include <stdexcept>

#include <fin/co_all.hpp>

#include "check.h"

namespace co = fin::co;

enum { MANY = 20000 };

static int alive;
struct lives {
    lives() { alive++; }
    lives(lives &&) noexcept { alive++; }
    ~lives() { alive--; }
};

static fin::task<int> first(bool throws, lives = {}) {
    co_await co::yield();
    if (throws)
        throw std::runtime_error("the first");
    co_return 0;
}
static fin::task<int> after(fin::task<int> before, lives = {}) {
    int n = co_await std::move(before);
    co_return n + 1;
}

static fin::task<int> chain(bool throws) {
    auto t = first(throws);
    for (int i = 0; i < MANY; i++)
        t = after(std::move(t));
    return t;
}

static fin::task<> sums(fin::task<int> t, int &sum) { sum += co_await std::move(t); }

static fin::task<int> only_one(fin::task<int> t) {
    auto [n] = co_await co::when_all(std::move(t));
    co_return n;
}

static fin::task<> with_a_name() {
    auto t = after(first(false)); // with its parameters
    CHECK_EQ(alive, 2);
    CHECK_EQ(co_await std::move(t), 1);
    CHECK_EQ(alive, 0);
    bool refused = false;
    try {
        co_await std::move(t);
    } catch (const std::logic_error &) {
        refused = true;
    }
    CHECK(refused);
}

int main() {
    int sum = 0, caught = 0;
    fin::finish([&](fin::scope &s) {
        s.async(sums(chain(false), sum));
        s.async([&] { sum += fin::finish(chain(false)); });
        s.async(sums(only_one(chain(false)), sum));
    });
    CHECK_EQ(sum, 3 * MANY);
    for (int i = 0; i < 2; i++) {
        try {
            fin::finish([&](fin::scope &s) {
                if (i == 0)
                    s.async(sums(chain(true), sum));
                else
                    s.async([&] { fin::finish(chain(true)); });
            });
        } catch (const std::runtime_error &) {
            caught++;
        }
    }
    CHECK(caught == 2 && alive == 0);
    fin::finish(with_a_name());
    return 0;
}

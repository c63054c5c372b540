// SPDX-License-Identifier: BSD-2-Clause
// While a std::lock_guard of a coroutine has locked a mutex, a block of the coroutine is not ended without a stack: co_await
// throws, and says that it is for the lock, not that the block would have ended before.
#include <cstring>
#include <mutex>

#include <fin/co_all.hpp>

#include "check.h"

namespace co = fin::co;

static fin::mutex m;
static int refused;

static void is_for_the_lock(const std::system_error &e) {
    CHECK_EQ(e.code().value(), EBUSY);
    CHECK(std::strstr(e.what(), "while no frame has a lock"));
    refused++;
}

static fin::task<int> gives(int n) {
    co_await co::yield();
    co_return n;
}

static fin::task<> ends(int &done) {
    co::finish block;
    block.async([&] {
        fin_yield();
        done++;
    });
    try {
        std::lock_guard hold(m);
        co_await block.end();
    } catch (const std::system_error &e) {
        is_for_the_lock(e);
    }
    co_await block.end();
    done++;
}

static fin::task<> several(int &done) {
    {
        std::lock_guard hold(m);
        try {
            co_await co::when_all(gives(1), gives(2));
        } catch (const std::system_error &e) {
            is_for_the_lock(e);
        }
        try {
            co_await co::when_any(gives(1), gives(2));
        } catch (const std::system_error &e) {
            is_for_the_lock(e);
        }
    }
    CHECK_EQ(co_await co::lock(m), 0);
    std::lock_guard hold(m, std::adopt_lock);
    auto [a, b] = co_await co::when_all(gives(1), gives(2));
    done += a + b;
}

static fin::task<> out_of_turn() {
    co::finish outer, inner;
    try {
        co_await outer.end();
    } catch (const std::system_error &e) {
        CHECK(e.code().value() == EINVAL && std::strstr(e.what(), "ends once"));
        refused++;
    }
}

int main() {
    int done = 0;
    fin::finish(ends(done));
    fin::finish(several(done));
    fin::finish(out_of_turn());
    CHECK(done == 5 && refused == 4);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A mutex that a coroutine holds by an object: around waits, until the object's end or an exception; not after a cancel.
#include <stdexcept>
#include <utility>

#include <fin/coro.hpp>

#include "check.h"

namespace co = fin::co;

namespace {

fin::mutex m;
fin_mutex plain = FIN_MUTEX_INIT;
int inside, turns;

bool is_free() {
    bool free = m.try_lock();
    if (free)
        m.unlock();
    return free;
}

fin::task<> takes_turns() {
    for (int i = 0; i < 3; i++) {
        auto hold = co_await co::hold(m);
        CHECK(hold && hold.error() == 0);
        CHECK_EQ(inside++, 0);
        co_await co::yield();
        inside--;
        turns++;
    }
}

fin::task<> is_cancelled(int *error) {
    auto hold = co_await co::hold(m);
    *error = hold.error();
    CHECK(!hold);
}

// The wait that is not cancelled has it.
fin::task<> has_it() {
    auto hold = co_await co::hold_nc(m);
    CHECK(hold);
}

void cancelled() {
    int error = 0;
    m.lock();
    fin_finish {
        fin_async_task(is_cancelled(&error));
        fin_async_task(has_it());
        fin_async {
            fin_yield();
            m.unlock();
        };
        fin_cancel();
    }
    CHECK_EQ(error, -ECANCELED);
    CHECK(is_free());
}

fin::task<> throws() {
    auto hold = co_await co::hold(m);
    co_await co::yield();
    throw std::runtime_error("with it");
}

fin::task<> moves() {
    auto hold = co_await co::hold(m);
    auto other = std::move(hold);
    CHECK(!hold && other && !is_free()); // NOLINT
    hold = std::move(other);
    CHECK(hold && !other);
    hold.unlock();
    CHECK(!hold && is_free());
    hold.unlock();
    hold = co_await co::hold(m);
    CHECK(hold && !is_free());
    hold = co_await co::hold(plain); // the one that it had is unlocked
    CHECK(hold && is_free());
}

fin::task<> behind_a_block(int *error) {
    fin::finish_nc([&](fin::scope &) { *error = 1; });
    auto hold = co_await co::hold(m);
    *error = hold.error();
}

} // namespace

int main() {
    fin_finish {
        for (int i = 0; i < 3; i++)
            fin_async_task(takes_turns());
    }
    CHECK_EQ(turns, 9);
    CHECK(is_free());
    cancelled();
    bool thrown = false;
    try {
        fin::finish([](fin::scope &s) { s.async(throws()); });
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    CHECK(thrown && is_free());
    int error = -1;
    fin_finish {
        fin_async_task(moves());
    }
    fin_finish {
        fin_async_task(behind_a_block(&error));
    }
    CHECK_EQ(error, 0);
    CHECK(is_free());
    CHECK_EQ(fin_mutex_trylock(&plain), 0);
    fin_mutex_unlock(&plain);
    return 0;
}

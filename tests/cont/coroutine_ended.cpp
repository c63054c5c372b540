// SPDX-License-Identifier: BSD-2-Clause
// Whoever has a block of a coroutine starts something in it until its end, and the block waits for that; or hears that it
// has ended. There is no time between the two, also where nothing was left in the block and others have a turn.
#include <utility>

#include <fin/coro.hpp>

#include "check.h"

namespace co = fin::co;

enum { ROUNDS = 3000 };

static co::finish *block;
static bool done;
static int inside, began;

static void yields() { fin_yield(); }

static fin::task<> waits() {
    co_await co::yield();
    inside--;
}

static fin::task<> opens() {
    for (int i = 0; i < ROUNDS; i++) {
        co::finish own;
        block = &own;
        if (i > ROUNDS / 2)
            own.async(yields);
        co_await own.end();
        CHECK_EQ(inside, 0);
        block = nullptr;
        CHECK(began > 0 || i < ROUNDS / 2); // others have a turn, also while nobody waits
    }
    done = true;
}

static fin::task<> starts() {
    while (!done) {
        if (block) {
            inside++, began++;
            std::exchange(block, nullptr)->async(waits());
        }
        co_await co::yield();
    }
}

int main() {
    fin::finish([](fin::scope &s) {
        s.async(opens());
        s.async(starts());
    });
    return 0;
}

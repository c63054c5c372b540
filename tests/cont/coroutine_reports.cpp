// SPDX-License-Identifier: BSD-2-Clause
// A report of a process that nothing can wake names its coroutines, of one that awaits others the innermost.
#include <fin/coro.hpp>

#include "stuck.h"

namespace {

fin::semaphore places(0), doors(0);

fin::task<> finds_a_place() { co_await fin::co::wait(places); }

struct guest {
    fin::task<> opens() { co_await fin::co::wait(doors); }
    fin::task<> visits() {
        co_await fin::co::yield();
        co_await opens();
    }
};

fin::task<> sits_down() {
    fin_sem_wait_nc(places.native_handle());
    co_return;
}

void waits_for_ever() {
    guest g;
    fin::finish([&](fin::scope &s) {
        s.async(finds_a_place());
        s.async(g.visits());
        s.async(sits_down());
    });
}

} // namespace

int main() {
    const char *names[] = {"continuation {anonymous}::finds_a_place,", "continuation {anonymous}::guest::opens,",
                           "continuation {anonymous}::sits_down,"};
    for (const char *name : names) {
        struct scenario s = {};
        s.run = waits_for_ever;
        s.said[0] = name;
        run_scenarios(&s, 1);
    }
    return 0;
}

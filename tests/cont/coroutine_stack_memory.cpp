// SPDX-License-Identifier: BSD-2-Clause
// There is no memory for another stack: coroutines that make calls with one (co::with_stack) make them one after the other,
// on the stack that is kept for those who have none. None of them fails, and none is forgotten.
#include <fin/coro.hpp>

#include "memory.h"

namespace co = fin::co;

enum { N = 100 };
static fin_event go = FIN_EVENT_INIT, enough = FIN_EVENT_INIT;
static int waiting, inside, most, done;

static void holds(void *) { fin_event_await(&enough, 1); }

static fin::task<int> makes_a_call() {
    co_return co_await co::with_stack([] {
        most = ++inside > most ? inside : most;
        int error = fin_sleep(1000);
        inside--;
        return error;
    });
}

static fin::task<> waits() {
    waiting++;
    CHECK_EQ(co_await co::await(go, 1), 0);
    fin::task<int> t = makes_a_call(); // the frame is there, in what malloc has
    CHECK_EQ(co_await std::move(t), 0);
    done++;
}

int main() {
    skip_where_watched();
    alarm(60); // where somebody is lost
    fin_finish {
        fin_sleep(1); // what I/O needs is there
        for (int i = 0; i < N; i++)
            fin_async_task(waits());
        while (waiting < N)
            fin_yield();
        while (spare_stacks() > 0)
            fin_async_eager_call(holds, nullptr);
        free(malloc(100000));
        limit_memory();
        fin_event_advance(&go, 1);
        while (done < N)
            fin_sleep(1000);
        CHECK_EQ(most, 1);
        unlimit_memory();
        fin_event_advance(&enough, 1);
    }
    struct fin_stats now;
    fin_stats(&now);
    CHECK_EQ(now.stacks_used, 1u);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// For top.py: coroutines in namespaces and classes, which wait until the standard input ends.
#include <cstdio>
#include <unistd.h>

#include <fin.hpp>
#include <fin/coro.hpp>

#include "check.h"

static fin_sem never = FIN_SEM_INIT(0);

static fin::task<> waits() { co_await fin::co::wait(never); }

namespace desk {

struct clerk {
    fin::task<> member() { co_await fin::co::wait(never); }
};

template <class T> fin::task<> made_of(T) { co_await fin::co::wait(never); }

namespace {
fin::task<> hidden(int) { co_await fin::co::wait(never); }
} // namespace

fin::task<> calls() {
    auto lambda = []() -> fin::task<> { co_await fin::co::wait(never); };
    co_await lambda();
}

} // namespace desk

FIN_BLOCKING int main() {
    desk::clerk clerk;
    char byte;
    ssize_t end = -1;
    fin_finish_as(all) {
        fin_async_task(waits());
        fin_async_task(clerk.member());
        fin_async_task(desk::made_of(1));
        fin_async_task(desk::hidden(1));
        fin_async_task(desk::calls());
        fin_yield(); // they begin
        std::puts("ready");
        std::fflush(stdout);
        end = fin_read(STDIN_FILENO, &byte, 1);
        fin_cancel_as(all);
    }
    CHECK_EQ(end, 0);
    return 0;
}

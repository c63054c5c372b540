// SPDX-License-Identifier: BSD-2-Clause
// A coroutine does not wait inside fin_finish, whether bodies have blocked there or not: a co_await gives -EBUSY, or throws,
// and with_stack makes its call in place. Nothing that runs or waits there is overwritten.
#include <cstring>

#include <fin/coro.hpp>

#include "check.h"

#ifdef __clang__
int main() { SKIP("Clang compiles no fin_finish in a coroutine"); }
#else

namespace co = fin::co;

static int ended;

static void body(char mark) {
    char own[2000];
    std::memset(own, mark, sizeof own);
    for (int i = 0; i < 3; i++) {
        fin_yield();
        for (char c : own)
            CHECK_EQ(c, mark);
    }
    ended++;
}

static fin::task<int> gives(int n) { co_return n; }

static fin::task<> waits(bool blocked) {
    int n = 0, error = 0, thrown = 0;
    fin_finish {
        if (blocked) {
            fin_async { body('a'); };
        }
        error = co_await co::yield();
        CHECK_EQ(error, -EBUSY);
        error = co_await co::sleep(1);
        CHECK_EQ(error, -EBUSY);
        if (blocked) {
            fin_async { body('b'); };
        }
        try {
            co_await gives(1);
        } catch (const std::system_error &e) {
            thrown += e.code().value() == EBUSY;
        }
        try {
            co_await co::offload([] { return 1; });
        } catch (const std::system_error &e) {
            thrown += e.code().value() == EBUSY;
        }
        n = co_await co::with_stack([] { return 5 + fin_sleep(1); });
    }
    CHECK_EQ(thrown, 2);
    CHECK_EQ(n, 5);
    error = co_await co::yield();
    CHECK_EQ(error, 0);
    n = co_await gives(6);
    CHECK_EQ(n, 6);
}

static fin::task<> ends_inside() {
    co::finish around;
    int thrown = 0;
    fin_finish {
        fin_async { body('c'); };
        try {
            co_await around.end();
        } catch (const std::system_error &e) {
            thrown += e.code().value() == EBUSY;
        }
    }
    CHECK_EQ(thrown, 1);
    co_await around.end();
}

int main() {
    fin::finish(waits(false));
    fin::finish(waits(true));
    CHECK_EQ(ended, 2);
    fin::finish(ends_inside());
    CHECK_EQ(ended, 3);
    return 0;
}
#endif

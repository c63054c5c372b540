// SPDX-License-Identifier: BSD-2-Clause
// For gdb.py and lldb.py: coroutines that await coroutines, and the innermost a mutex, in three ways.
#include <fin.hpp>
#include <fin/coro.hpp>

#include "check.h"

static fin_mutex held = FIN_MUTEX_INIT;

namespace shop {

struct stream {
    fin::task<int> read(int size) {
        CHECK_EQ(co_await fin::co::lock_nc(held), 0);
        fin_mutex_unlock(&held);
        co_return size;
    }
};

static fin::task<int> fill(stream &s) { co_return co_await s.read(3); }

template <class T> fin::task<> serve(T times) {
    stream s;
    for (T i = 0; i < times; i++)
        CHECK_EQ(co_await fill(s), 3);
}

static void locks() {
    fin_mutex_lock_nc(&held);
    fin_mutex_unlock(&held);
}

fin::task<> with_a_stack() { co_await fin::co::with_stack(locks); }

struct __attribute__((aligned(16))) wide {
    int value = 7;
};

fin::task<wide> blocks() {
    locks();
    co_return wide();
}

namespace {
fin::task<> hidden(int depth) {
    if (depth)
        co_await hidden(depth - 1);
    else
        CHECK_EQ((co_await blocks()).value, 7);
}
} // namespace

} // namespace shop

extern "C" __attribute__((noinline)) void stop_here() { __asm__ volatile(""); }

FIN_BLOCKING int main() {
    fin_mutex_lock(&held);
    fin_finish {
        fin_async_task(shop::serve(1));
        fin_async_task(shop::with_a_stack());
        fin_async_task(shop::hidden(5));
        fin_yield(); // they begin
        stop_here();
        fin_mutex_unlock(&held);
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A C++20 coroutine whose frame comes from a pool: created, suspended once, resumed, destroyed. It can stop only in its own
// body, not in a function that it calls.
#include <coroutine>
#include <cstdlib>
#include <exception>
#include <new>

#include "rows.h"

namespace {

struct frame {
    frame *next;
};
frame *pool;

struct task {
    struct promise_type {
        task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
        static void *operator new(std::size_t size) {
            frame *f = pool;
            if (!f)
                return std::malloc(size);
            pool = f->next;
            return f;
        }
        static void operator delete(void *p) {
            frame *f = static_cast<frame *>(p);
            f->next = pool;
            pool = f;
        }
    };
    std::coroutine_handle<promise_type> handle;
};

std::coroutine_handle<> queued; // a run queue of one

struct yield {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const noexcept { queued = h; }
    void await_resume() const noexcept {}
};

__attribute__((noinline)) task yields() { co_await yield{}; }

} // namespace

double coroutine_create(long n) {
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++) {
        task t = yields();
        queued.resume();
        t.handle.destroy();
    }
    return bench_since(start, static_cast<double>(n));
}

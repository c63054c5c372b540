// SPDX-License-Identifier: BSD-2-Clause
// The rival without a stack: coroutines that wait, each called by the one before it to some depth.
#include <coroutine>
#include <utility>
#include <vector>

#include "rows.h"

namespace {

struct task {
    struct promise_type {
        std::coroutine_handle<> caller;
        task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        auto final_suspend() noexcept {
            struct back {
                bool await_ready() noexcept { return false; }
                std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
                    return h.promise().caller ? h.promise().caller : std::noop_coroutine();
                }
                void await_resume() noexcept {}
            };
            return back{};
        }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
    bool await_ready() { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
        handle.promise().caller = caller;
        return handle;
    }
    void await_resume() { handle.destroy(); }
};

std::vector<std::coroutine_handle<>> waiting;
std::vector<task> all;
volatile long sum;

struct wait {
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> h) { waiting.push_back(h); }
    void await_resume() {}
};

task waits(long n, int depth) {
    if (depth > 1)
        co_await waits(n, depth - 1);
    else
        co_await wait();
    sum = sum + n;
}

} // namespace

void coroutines_wait(long n, int depth) {
    waiting.reserve(static_cast<size_t>(n));
    all.reserve(static_cast<size_t>(n));
    for (long i = 0; i < n; i++) {
        all.push_back(waits(i, depth));
        all.back().handle.resume();
    }
}

void coroutines_wake() {
    for (auto h : waiting)
        h.resume();
    for (auto &t : all)
        t.handle.destroy();
}

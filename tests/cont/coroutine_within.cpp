// SPDX-License-Identifier: BSD-2-Clause
// co::within: what a task returned or threw in time, or nothing; the task has ended when that is known.
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <stdexcept>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fin/co_all.hpp>
#include <fin/process.hpp>

#include "lives.hpp"

namespace co = fin::co;
using namespace std::chrono_literals;

static fin::task<std::unique_ptr<int>> gives(int value, uint64_t ns) {
    lives here;
    co_await co::sleep(ns);
    co_return std::make_unique<int>(value);
}
static fin::task<> nothing(uint64_t ns) {
    lives here;
    co_await co::sleep(ns);
}
static fin::task<int> checks(uint64_t ns) { // throws ECANCELED
    lives here;
    fin::check(co_await co::sleep(ns));
    co_return 1;
}
static fin::task<int> throws(uint64_t ns) {
    lives here;
    co_await co::sleep(ns);
    throw std::runtime_error("thrown");
}

static fin::task<> in_time() {
    std::optional<std::unique_ptr<int>> a = co_await co::within(1h, gives(5, 1));
    CHECK(a && **a == 5);
    auto b = co_await co::within(UINT64_MAX, nothing(1));
    CHECK(b.has_value());
    auto c = co_await co::within(10 * FIN_S, checks(1));
    CHECK(c == 1);
}

static fin::task<> late() {
    auto a = co_await co::within(1ms, gives(5, UINT64_MAX));
    CHECK(!a && alive == 0);
    auto b = co_await co::within(1ms, nothing(UINT64_MAX));
    CHECK(!b && alive == 0);
    auto c = co_await co::within(FIN_MS, checks(UINT64_MAX));
    CHECK(!c && alive == 0);
    auto d = co_await co::within(0, ends_late());
    CHECK(!d && alive == 0);
    auto e = co_await co::within(1h, co::within(1ms, checks(UINT64_MAX))); // the inner one
    CHECK(e && !*e);
    auto f = co_await co::within(1ms, co::within(1h, checks(UINT64_MAX))); // the outer one
    CHECK(!f && alive == 0);
}

template <class T> static fin::task<bool> fails(fin::task<T> t) {
    bool failed = false;
    try {
        co_await std::move(t);
    } catch (const std::runtime_error &e) {
        failed = true;
    }
    co_return failed;
}

static fin::task<> thrown() {
    bool in_time = co_await fails(co::within(1h, throws(1)));
    bool late = co_await fails(co::within(1ms, throws(UINT64_MAX)));
    CHECK(in_time && late && alive == 0);
}

// A cancel from around is not the limit's: the task's result, and its exception.
static fin::task<> cancelled_around() {
    int whence = 0;
    co::finish block;
    block.cancel();
    auto a = co_await co::within(1h, nothing(UINT64_MAX));
    CHECK(a.has_value());
    try {
        co_await co::within(1h, checks(UINT64_MAX));
    } catch (const std::system_error &e) {
        whence = e.code().value();
    }
    CHECK_EQ(whence, ECANCELED);
    co_await block.end();
}

// A child and a set of signals that have owners.
static fin::task<> owned() {
    fin_signal_info info;
    int status = -1;
    fin::signal_set set({SIGUSR1});
    auto a = co_await co::within(1ms, co::next(set, info));
    CHECK(!a);
    CHECK_EQ(raise(SIGUSR1), 0);
    auto b = co_await co::within(1h, co::next(set, info));
    CHECK(b == 0 && info.signal == SIGUSR1);
    fin::process child({"sleep", "1000"});
    auto c = co_await co::within(1ms, co::wait(child, status));
    CHECK(!c);
    CHECK_EQ(child.kill(SIGTERM), 0);
    CHECK_EQ(co_await co::wait_nc(child, status), 0);
    CHECK(WIFSIGNALED(status));
}

// A wait itself: what it gives, unless the time cancelled it.
static fin::task<> waits() {
    int fd[2];
    char c[4];
    fin_awe *slot = nullptr;
    CHECK_EQ(pipe(fd), 0);
    auto a = co_await co::within(1ms, co::read(fd[0], c, sizeof c));
    CHECK(!a);
    CHECK_EQ(write(fd[1], "abc", 3), 3);
    auto b = co_await co::within(1h, co::read(fd[0], c, sizeof c));
    CHECK(b == 3);
    auto d = co_await co::within(0, co::read(-1, c, sizeof c));
    CHECK(!d || *d == -EBADF); // if that was first
    auto e = co_await co::within(1ms, co::suspend(slot));
    CHECK(!e);
    auto f = co_await co::within(1ms, co::with_stack([]() FIN_BLOCKING { return fin_sleep(UINT64_MAX); }));
    CHECK(!f);
    // done in time, though told late
    auto g = co_await co::within(1, co::with_stack([]() FIN_BLOCKING { return fin_sleep_nc(FIN_MS) + 5; }));
    CHECK(g == 5);
    co::finish block;
    block.cancel();
    auto h = co_await co::within(1h, co::read(fd[0], c, sizeof c));
    CHECK(h == -ECANCELED); // from around
    co_await block.end();
    close(fd[0]);
    close(fd[1]);
}

int main() {
    fin::finish(waits());
    try {
        fin::finish(owned());
    } catch (const std::system_error &e) {
        CHECK(e.code().value() == ENOSYS); // no pidfds here
    }
    fin::finish(in_time());
    fin::finish(late());
    fin::finish(thrown());
    fin::finish(cancelled_around());
    std::optional<int> n = fin::finish(co::within(1ms, checks(UINT64_MAX))); // from a function
    CHECK(!n);
    CHECK_EQ(alive, 0);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A coroutine has a callable called by a thread of the pool: what it returns or throws arrives, and what was cancelled
// before did not run.
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <fin/coro.hpp>

#include "check.h"

namespace co = fin::co;

static std::string text() { return "a function"; }

struct once_only {
    int n = 3;
    int operator()() && { return n; }
};

static fin::task<> results(int &done) {
    auto here = std::this_thread::get_id();
    int n = 1;
    CHECK_EQ(co_await co::offload([] { return 42; }), 42);
    CHECK(co_await co::offload([] { return std::this_thread::get_id(); }) != here);
    CHECK(std::this_thread::get_id() == here);
    CHECK(co_await co::offload(text) == "a function");
    co_await co::offload([&n] { n = 5; });
    CHECK_EQ(n, 5);
    int &same = co_await co::offload([&n]() -> int & { return n; });
    CHECK(&same == &n);
    auto owns = [p = std::make_unique<int>(6)]() mutable { return std::move(p); };
    CHECK_EQ(*co_await co::offload(owns), 6);
    CHECK_EQ(co_await co::offload(once_only()), 3);
    CHECK_EQ(co_await co::with_stack(once_only()), 3);
    auto later = co::offload([&n] { return n + 1; });
    n = 7;
    CHECK_EQ(co_await std::move(later), 8);
    CHECK_EQ(co_await co::offload([](void *p) { ++*static_cast<int *>(p); }, &n), 0); // as fin_offload
    CHECK_EQ(n, 8);
    done++;
}

static fin::task<> exceptions(int &done) {
    bool caught = false;
    try {
        co_await co::offload([]() -> int { throw std::runtime_error("from elsewhere"); });
    } catch (const std::runtime_error &e) {
        caught = e.what() == std::string("from elsewhere");
    }
    CHECK(caught);
    CHECK_EQ(co_await co::sleep(1), 0); // nothing has been cancelled
    done++;
}

static fin::task<> cancelled(int &done) {
    bool ran = false, told = false;
    co::finish block;
    block.cancel();
    try {
        co_await co::offload([&ran] { ran = true; });
    } catch (const std::system_error &e) {
        told = e.code() == std::errc::operation_canceled;
    }
    co_await block.end();
    CHECK(told && !ran);
    done++;
}

// Once it runs, a cancel does not end the wait, and the result is the callable's.
static fin::task<> cancelled_late(int *begun, int *go_on, int &result) {
    result = co_await co::offload([=] {
        char c = 0;
        CHECK_EQ(write(begun[1], &c, 1), 1);
        CHECK_EQ(read(go_on[0], &c, 1), 1);
        return 9;
    });
}
static void while_it_runs() {
    int begun[2], go_on[2], result = 0;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, begun) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, go_on) == 0);
    fin::finish([&](fin::scope &s) {
        char c;
        s.async(cancelled_late(begun, go_on, result));
        CHECK_EQ(fin_recv(begun[0], &c, 1, 0), 1);
        s.cancel();
        CHECK_EQ(write(go_on[1], "", 1), 1);
    });
    CHECK_EQ(result, 9);
    for (int each : {begun[0], begun[1], go_on[0], go_on[1]})
        close(each);
}

// The header of a message may be gone before the operation is awaited; a thread is awaited, and then joined.
static msghdr header(iovec *v) {
    msghdr m{};
    m.msg_iov = v;
    m.msg_iovlen = 1;
    return m;
}
static fin::task<> headers(int &done) {
    int fds[2];
    char in[8] = "", out[] = "hello";
    iovec from{out, 5}, to{in, sizeof in};
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    auto sends = co::sendmsg(fds[0], header(&from));
    msghdr m = header(&to);
    CHECK_EQ(co_await std::move(sends), 5);
    CHECK_EQ(co_await co::recvmsg(fds[1], m), 5);
    CHECK(in == std::string("hello"));
    close(fds[0]);
    close(fds[1]);
    fin::semaphore gate(0);
    int n = 0;
    fin::thread t([&] {
        gate.acquire();
        n = 1;
    });
    gate.release();
    CHECK_EQ(co_await co::ended(t), 0);
    CHECK(n == 1 && t.joinable());
    t.join();
    done++;
}

int main() {
    int done = 0;
    fin::finish([&](fin::scope &s) {
        s.async(results(done));
        s.async(exceptions(done));
        s.async(cancelled(done));
        s.async(headers(done));
    });
    CHECK_EQ(done, 4);
    while_it_runs();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Finish blocks and limits of time of coroutines: co_await end() waits without a stack for all that was started in the
// block, and throws what left it; a block that is left otherwise waits too. A cancel is of the block alone.
#include <arpa/inet.h>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <fin/co_all.hpp>

#include "check.h"

namespace co = fin::co;

static int alive; // tasks that have begun and not ended

struct lives {
    lives() { alive++; }
    ~lives() { alive--; }
};

static fin::task<> sleeps(uint64_t ns, int &result) {
    lives here;
    result = co_await co::sleep(ns);
}

static fin::task<> throws(const char *what) {
    lives here;
    co_await co::sleep(FIN_MS);
    throw std::runtime_error(what);
}

static uint64_t stacks_used() {
    struct fin_stats stats;
    fin_stats(&stats);
    return stats.stacks_used;
}

// ---- the end of a block

static fin::task<> several() {
    int results[3] = {1, 1, 1};
    co::finish block;
    for (int &r : results)
        block.async(sleeps(FIN_MS, r));
    CHECK(!co_await block.end());
    CHECK(results[0] == 0 && results[1] == 0 && results[2] == 0);
    co::finish empty;
    CHECK(!co_await empty.end());
}

static fin::task<> waits_without_a_stack(co::finish *&out) {
    int result = 1;
    co::finish block;
    out = &block;
    block.async(sleeps(UINT64_MAX, result));
    co_await block.end();
    CHECK_EQ(result, -ECANCELED);
    CHECK(!fin_cancelled());
    CHECK_EQ(co_await co::sleep(1), 0);
}

static void ends() {
    co::finish *block = nullptr;
    fin::finish([&](fin::scope &s) {
        s.async(several());
        s.async(waits_without_a_stack(block));
        fin_sleep(5 * FIN_MS);
        CHECK_EQ(stacks_used(), 1); // the scheduler's
        block->cancel();            // from outside
    });
}

// With lambdas, which have stacks, and a function that takes the block as a scope.
static void start(fin::scope &s, int &n) {
    s.async([&n] {
        lives here;
        fin_sleep(FIN_MS);
        n++;
    });
}

static fin::task<> bodies() {
    int n = 0;
    co::finish block;
    start(block, n);
    start(block, n);
    CHECK_EQ(alive, 2);
    co_await co::sleep(1); // the step that started them is over, its stack is theirs
    start(block, n);
    co_await block.end();
    CHECK_EQ(n, 3);
}

// Whoever is outside may start something until the block is over: also between the end of the last and that.
static fin::task<> ends_at_once(int &left) {
    left--;
    co_return;
}
static fin::task<> closes(co::finish *&out, int &left, int &at_end) {
    co::finish block;
    out = &block;
    block.async(ends_at_once(left));
    co_await block.end();
    out = nullptr;
    at_end = left;
    co_await co::sleep(FIN_MS);
}
static fin::task<> starts_one_more(co::finish *&block, int &left) {
    while (left > 0)
        co_await co::yield();
    if (block)
        block->async(ends_at_once(++left));
}
static void started_late() {
    co::finish *block = nullptr;
    int left = 1, at_end = 1;
    fin::finish([&](fin::scope &s) {
        s.async(closes(block, left, at_end));
        fin_yield();
        s.async(starts_one_more(block, left));
    });
    CHECK(left == 0 && at_end == 0);
}

// ---- time

static fin::task<> in_time(int quick, int silent) {
    char c;
    CHECK_EQ(send(quick, "", 1, 0), 1);
    co::timeout first(100 * FIN_S);
    int n = co_await co::recv(silent, &c, 1);
    CHECK_EQ(n, 1);
    CHECK(!co_await first.end());
    co::timeout second(FIN_MS);
    n = co_await co::recv(silent, &c, 1);
    CHECK_EQ(n, -ECANCELED);
    CHECK(co_await second.end());
    CHECK_EQ(co_await co::sleep(1), 0);
}

static fin::task<> deadlines() {
    int result = 1, inner = 1;
    uint64_t when = fin_now() + FIN_MS;
    co::deadline outer(when);
    outer.async(sleeps(FIN_S, result));
    {
        co::finish_nc shielded;
        CHECK_EQ(co_await co::sleep_until(when + FIN_MS), 0);
        shielded.async(sleeps(1, inner));
        co_await shielded.end();
        CHECK_EQ(inner, 0);
    }
    CHECK_EQ(co_await co::sleep(FIN_S), -ECANCELED);
    CHECK(co_await outer.end());
    CHECK_EQ(result, -ECANCELED);
}

// Of a call with a stack, and of a whole conversation of tasks.
static fin::task<int> asks(int fd) {
    char c;
    int n = co_await co::recv(fd, &c, 1);
    co_return n;
}
static fin::task<> around_others(int fd) {
    co::timeout limit(FIN_MS);
    char c;
    CHECK_EQ(co_await co::with_stack([&] { return fin_recv(fd, &c, 1, 0); }), -ECANCELED);
    CHECK_EQ(co_await asks(fd), -ECANCELED);
    CHECK(co_await limit.end());
}

static fin::task<> connects() {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(bind(listener, reinterpret_cast<sockaddr *>(&address), size), 0);
    CHECK_EQ(getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size), 0);
    CHECK_EQ(listen(listener, 1), 0);
    co::timeout limit(100 * FIN_S);
    CHECK_EQ(co_await co::connect(fd, reinterpret_cast<sockaddr *>(&address), size), 0);
    int peer = co_await co::accept(listener);
    CHECK(!co_await limit.end());
    CHECK_EQ(co_await co::send(fd, "x", 1), 1);
    CHECK_EQ(co_await co::recv(peer, &address, 1), 1);
    for (int each : {listener, fd, peer})
        close(each);
}

// ---- exceptions

static fin::task<> catches() {
    int result = 1;
    std::string caught;
    try {
        co::finish block;
        block.async(sleeps(FIN_S, result));
        block.async(throws("by a task"));
        co_await block.end();
        CHECK(false);
    } catch (const std::runtime_error &e) {
        caught = e.what();
    }
    CHECK(caught == "by a task" && result == -ECANCELED && alive == 0);
    try { // out of the block: what it started is cancelled, and waited for
        co::finish block;
        result = 1;
        block.async(sleeps(FIN_S, result));
        co_await co::yield();
        CHECK_EQ(alive, 1);
        throw std::runtime_error("by the coroutine");
    } catch (const std::runtime_error &e) {
        caught = e.what();
    }
    CHECK(caught == "by the coroutine" && result == -ECANCELED && alive == 0);
    try { // left without end(): it waits, and throws what a task threw
        co::finish block;
        block.async(throws("late"));
    } catch (const std::runtime_error &e) {
        caught = e.what();
    }
    CHECK(caught == "late" && alive == 0);
    co_await co::sleep(1);
}

static fin::task<> leaves_early(int &result) {
    co::timeout block(FIN_MS);
    block.async(sleeps(FIN_S, result));
    co_return;
}

// A coroutine of steps that return what they wait for closes in the same way.
struct steps {
    fin_finish_on f;
    fin_on on;
};
static fin::next finished(steps *&s, int result) {
    CHECK_EQ(result, 1);
    s = nullptr;
    return fin::end();
}
static fin::next slept(steps *&s, int result) {
    CHECK_EQ(result, -ECANCELED);
    return fin::wait_on<finished, fin_finish_close_on>(s, &s->f);
}
static fin::next begins(steps *&s, int) {
    CHECK_EQ(fin_timeout_open(&s->f, FIN_MS), 0);
    return fin::wait_on<slept, fin_sleep_on>(s, &s->on, FIN_S);
}

// ---- where there can be none

static bool refused() {
    try {
        co::finish block;
    } catch (const std::system_error &e) {
        return e.code().value() == EINVAL || e.code().value() == EBUSY;
    }
    return false;
}

template <class Call> static bool is_invalid(Call call) {
    try {
        call();
    } catch (const std::system_error &e) {
        return e.code().value() == EINVAL;
    }
    return false;
}

// A block that has ended: what it would start, nobody would wait for.
static fin::task<> ended_before() {
    co::finish block, inner;
    int n = 0, errors = 0;
    try {
        co_await block.end();
    } catch (const std::system_error &e) {
        errors += e.code().value() == EINVAL;
    }
    block.async([&] { n++; });
    co_await inner.end();
    co_await block.end();
    try {
        co_await block.end();
    } catch (const std::system_error &e) {
        errors += e.code().value() == EINVAL;
    }
    CHECK_EQ(errors, 2);
    steps s;
    CHECK(is_invalid([&] { block.async([&] { n++; }); }));
    CHECK(is_invalid([&] { block.async(throws("never")); }));
    CHECK(is_invalid([&] { block.async_cont<begins>(&s); }));
    CHECK(is_invalid([&] { block.async_cont([&n](int) { return n++, fin::end(); }); }));
    co_await co::sleep(1);
    CHECK(n == 1 && alive == 0);
}

static fin::task<> while_a_lambda_waits(fin::scope &s) {
    int n = 0;
    start(s, n);
    CHECK(!refused());
    co::timeout limit(FIN_MS);
    CHECK_EQ(co_await co::sleep(FIN_S), -ECANCELED);
    CHECK(co_await limit.end());
    fin::finish([](fin::scope &) { CHECK(refused()); });
    while (n == 0)
        co_await co::sleep(1);
}

// ---- while a std::lock_guard of the coroutine has locked a mutex no block of it is ended without a stack: co_await throws,
// and says that it is for the lock

static fin::mutex m;
static int refusals;

static void is_for_the_lock(const std::system_error &e) {
    CHECK_EQ(e.code().value(), EBUSY);
    CHECK(std::strstr(e.what(), "while no frame has a lock"));
    refusals++;
}

static fin::task<int> gives(int n) {
    co_await co::yield();
    co_return n;
}

static fin::task<> ends_locked(int &done) {
    co::finish block;
    block.async([&] {
        fin_yield();
        done++;
    });
    try {
        std::lock_guard hold(m);
        co_await block.end();
    } catch (const std::system_error &e) {
        is_for_the_lock(e);
    }
    co_await block.end();
    done++;
}

static fin::task<> several_locked(int &done) {
    {
        std::lock_guard hold(m);
        try {
            co_await co::when_all(gives(1), gives(2));
        } catch (const std::system_error &e) {
            is_for_the_lock(e);
        }
        try {
            co_await co::when_any(gives(1), gives(2));
        } catch (const std::system_error &e) {
            is_for_the_lock(e);
        }
    }
    CHECK_EQ(co_await co::lock(m), 0);
    std::lock_guard hold(m, std::adopt_lock);
    auto [a, b] = co_await co::when_all(gives(1), gives(2));
    done += a + b;
}

static fin::task<> out_of_turn() {
    co::finish outer, inner;
    try {
        co_await outer.end();
    } catch (const std::system_error &e) {
        CHECK(e.code().value() == EINVAL && std::strstr(e.what(), "ends once"));
        refusals++;
    }
}

static void with_a_lock() {
    int done = 0;
    fin::finish(ends_locked(done));
    fin::finish(several_locked(done));
    fin::finish(out_of_turn());
    CHECK(done == 5 && refusals == 4);
}

int main() {
    int fds[2], result = 1;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    CHECK(refused());
    ends();
    started_late();
    steps s;
    fin::finish([&](fin::scope &all) {
        all.async(bodies());
        all.async_cont<begins>(&s);
    });
    fin::finish([&](fin::scope &all) { all.async(in_time(fds[0], fds[1])); });
    fin::finish([&](fin::scope &all) { all.async(around_others(fds[1])); });
    fin::finish([&](fin::scope &all) { all.async(connects()); });
    fin::finish([&](fin::scope &all) {
        all.async(deadlines());
        all.async(leaves_early(result));
    });
    CHECK_EQ(result, -ECANCELED);
    fin::finish([&](fin::scope &all) { all.async(catches()); });
    fin::finish([&](fin::scope &all) { all.async(while_a_lambda_waits(all)); });
    fin::finish([&](fin::scope &all) { all.async(ended_before()); });
    with_a_lock();
    CHECK_EQ(alive, 0);
    return 0;
}

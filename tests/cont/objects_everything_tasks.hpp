// SPDX-License-Identifier: BSD-2-Clause
// What objects_everything.cpp does in coroutines, and which of all it is.
#ifndef FIN_TESTS_OBJECTS_EVERYTHING_TASKS_HPP
#define FIN_TESTS_OBJECTS_EVERYTHING_TASKS_HPP

#include "objects_everything.hpp"

inline int maybe(int what) { return chance(8) ? what : 0; }

// Ends when it is cancelled.
inline fin::task<brittle> never_ends(brittle given, fin::semaphore &never) {
    int r = co_await co::wait(never);
    CHECK_EQ(r, -ECANCELED);
    co_return given;
}
inline fin::task<brittle> in_order(fin::task<brittle> t, std::vector<int> &order, int number) {
    try {
        brittle got = co_await std::move(t);
        order.push_back(number);
        co_return got;
    } catch (const thrown &) {
        order.push_back(number);
        throw;
    }
}

inline fin::task<> awaits_all(const brittle &b) {
    int what = b.what();
    auto one = gives_back(b, below(3), maybe(what));
    auto two = no_value(b);
    auto unused = gives_back(b, 1, 0);
    if (chance(2)) {
        auto [x, none] = co_await co::when_all(std::move(one), std::move(two));
        static_assert(std::is_same_v<decltype(none), std::monostate>);
        CHECK_EQ(x.what(), what);
    } else {
        std::vector<fin::task<brittle>> tasks;
        fin::semaphore never(0);
        bool fails = chance(3);
        tasks.push_back(std::move(one));
        tasks.push_back(gives_back(b, below(3), fails ? what : 0));
        if (fails)
            tasks.push_back(never_ends(b, never));
        auto all = co_await co::when_all(std::move(tasks));
        CHECK(!fails && all.size() == 2 && all[0].what() == what && all[1].what() == what);
    }
}
inline fin::task<> awaits_any(const brittle &b) {
    int what = b.what();
    fin::semaphore never(0);
    std::vector<int> order;
    std::vector<fin::task<brittle>> tasks;
    for (int i = 0; i < 3; i++) {
        auto t = i == 2 ? never_ends(b, never) : gives_back(b, below(3), maybe(what));
        tasks.push_back(in_order(std::move(t), order, i));
    }
    if (chance(2)) {
        auto first = co_await co::when_any(std::move(tasks[0]), std::move(tasks[1]), std::move(tasks[2]));
        CHECK_EQ(first.index(), order[0]);
    } else {
        auto first = co_await co::when_any(std::move(tasks));
        CHECK(first.first == static_cast<size_t>(order[0]) && first.second.what() == what);
    }
}
inline fin::task<> awaits_within(const brittle &b) {
    int what = b.what();
    auto work = gives_back(b, below(4), maybe(what));
    auto in_time = co_await co::within(calm ? UINT64_MAX : short_time(), std::move(work));
    CHECK(in_time ? in_time->what() == what : !calm);
}
inline fin::task<> invokes(const brittle &b) {
    int what = b.what();
    auto body = [b, what](brittle x, const std::unique_ptr<object> &p) -> fin::task<brittle> {
        ends_late late;
        fin::thread other;
        if (chance(8))
            other = fin::thread([] { fin_yield(); });
        co_await co::yield();
        CHECK(b.what() == what && p->what() > 0);
        co_return x;
    };
    auto t = co::invoke(body, b, std::make_unique<object>());
    auto other = co::invoke(body, b, std::make_unique<object>());
    if (chance(2))
        std::swap(t, other);
    if (chance(4))
        co_return;
    brittle got = co_await std::move(t);
    CHECK_EQ(got.what(), what);
}
inline fin::task<> calls(const brittle &b) {
    int what = b.what();
    auto body = [&] {
        ends_late late;
        brittle own(b);
        pause_here();
        return own;
    };
    brittle got = co_await co::with_stack(body);
    CHECK_EQ(got.what(), what);
}
inline fin::task<> offloads_co(const brittle &b, bool &cancelled) {
    int what = b.what();
    bool throws = chance(6);
    auto body = [b, what, throws] {
        if (throws)
            throw_it(what);
        return brittle(b);
    };
    try {
        brittle got = co_await co::offload(body);
        CHECK(!throws && got.what() == what);
    } catch (const std::system_error &e) {
        CHECK(e.code() == std::errc::operation_canceled);
        cancelled = true;
    }
}
inline fin::task<> holds(const brittle &b) {
    unsigned i = below(2);
    co::held kept = co_await co::hold(common->locks[i]);
    CHECK(kept || (kept.error() == -ECANCELED && !calm));
    if (!kept)
        co_return;
    {
        co::held moved(std::move(kept));
        CHECK(!kept && moved); // NOLINT
        is_inside here(i);
        if (chance(2))
            co_await co::yield();
        brittle own(b);
        kept = std::move(moved);
        CHECK(kept && !moved); // NOLINT
    }
    if (chance(2))
        kept.unlock();
}
inline fin::task<> holds_nc(const brittle &b) {
    unsigned i = below(2);
    auto kept = co_await co::hold_nc(common->locks[i]);
    CHECK(kept && kept.error() == 0);
    is_inside here(i);
    co_await co::yield();
    brittle own(b);
}
inline fin::task<> takes_token() {
    gives();
    auto hold = co_await co::hold_nc(common->m);
    int r = 0;
    while (r == 0 && common->tokens == 0)
        r = co_await co::wait(common->changed, common->m);
    CHECK_OF(r, r == 0 || (r == -ECANCELED && !calm));
    if (common->tokens > 0)
        common->tokens--;
    else
        common->given_up++;
}
inline fin::task<> opens_blocks(const brittle &b) {
    int what = b.what(), ran = 0;
    fin::semaphore never(0);
    co::finish outer;
    co::finish_nc block;
    auto body = [b, what, &ran] {
        ends_late late;
        CHECK_EQ(b.what(), what);
        ran++;
    };
    auto work = [b, what, &ran]() -> fin::task<> {
        co_await co::yield();
        may_throw(what, 6);
        CHECK_EQ(b.what(), what);
        ran++;
    };
    block.async(body);
    block.async(std::move(work));
    auto waits = [&never]() -> fin::task<> {
        int r = co_await co::wait(never);
        CHECK_EQ(r, -ECANCELED);
    };
    if (chance(4)) {
        block.async(waits);
        throw_it(what); // what leaves the block is lost, and who waits is cancelled
    }
    if (chance(4))
        co_return;
    co_await block.end();
    CHECK_EQ(ran, 2);
    co_await outer.end();
}

// Threads that end while their coroutine waits for that, or does not.
inline fin::task<> ends_threads(const brittle &b) {
    std::atomic<int> ran = 0;
    fin::thread t([&ran] {
        fin_yield();
        ran++;
    });
    brittle own(b);
    int r = co_await co::ended(t);
    CHECK_OF(r, r == 0 || (r == -ECANCELED && !calm));
    if (r == 0)
        CHECK_EQ(ran, 1);
    t.join();
    CHECK_EQ(ran, 1);
}
// Left by an exception, a block of a function inside a coroutine, and one of a coroutine around it.
inline fin::task<> calls_with_blocks(const brittle &b) {
    int what = b.what(), ran = 0;
    co::timeout outer(calm ? 3600 * FIN_S : short_time());
    auto body = [&] {
        fin_finish {
            fin_async {
                ends_late late;
                brittle own(b);
                ran++;
            };
            fin_async_task(no_value(b));
            may_throw(what);
        }
    };
    co_await co::with_stack(body);
    CHECK_EQ(ran, 1);
    outer.async(no_value(b));
    co_await outer.end();
}

inline fin::task<> session_co() {
    brittle b;
    int what = b.what();
    bool cancelled = false;
    try {
        ends_late late;
        fin::task<> t = no_value(b);
        switch (below(12)) {
        case 10:
            t = ends_threads(b);
            break;
        case 11:
            t = calls_with_blocks(b);
            break;
        case 0:
            t = awaits_all(b);
            break;
        case 1:
            t = awaits_any(b);
            break;
        case 2:
            t = awaits_within(b);
            break;
        case 3:
            t = invokes(b);
            break;
        case 4:
            t = calls(b);
            break;
        case 5:
            t = offloads_co(b, cancelled);
            break;
        case 6:
            t = holds(b);
            break;
        case 7:
            t = holds_nc(b);
            break;
        case 8:
            t = opens_blocks(b);
            break;
        default:
            t = takes_token();
        }
        co_await in_danger_co(std::move(t));
    } catch (const thrown &t) {
        CHECK_EQ(t.of, what);
    }
    CHECK(!cancelled || !calm);
}

inline void session() {
    switch (below(10)) {
    case 7:
        fails();
        break;
    case 0:
        asyncs();
        break;
    case 1:
        blocks();
        break;
    case 2:
        threads();
        break;
    case 3:
        offloads();
        break;
    case 4:
        locks();
        break;
    case 5:
        tokens();
        break;
    case 6:
        descriptors();
        break;
    default:
        fin::finish(session_co());
    }
}

#endif

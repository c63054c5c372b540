// SPDX-License-Identifier: BSD-2-Clause
// What the AWEs of objects_everything.cpp do beside queues, each with things of its own: closures, arguments and results
// whose copies and moves throw, in asyncs, tasks, threads, offloaded calls and locks; what is thrown must arrive at who has
// had the copy made, and everything must be destroyed.
#ifndef FIN_TESTS_OBJECTS_EVERYTHING_HPP
#define FIN_TESTS_OBJECTS_EVERYTHING_HPP

#include <mutex>

#include <fcntl.h>

#include "objects_everything_queue.hpp"

// What all threads lock.
struct common_things {
    fin::mutex locks[2];
    std::atomic<int> inside[2] = {};
    long counts[2] = {};
    fin::mutex m;
    fin::condition_variable changed;
    int tokens = 0, given_up = 0;
};
inline common_things *common;

// Their parameters end late, too.
inline fin::task<brittle> gives_back(brittle given, unsigned turns, int throws, ends_late = {}) {
    for (; turns > 0; turns--)
        co_await co::yield();
    if (throws)
        throw_it(throws);
    co_return given; // a move
}
inline fin::task<> no_value(brittle given, ends_late = {}, std::unique_ptr<object> = std::make_unique<object>()) {
    ends_late late;
    co_await co::yield();
    brittle own(given);
}

// ---- with a stack

inline void asyncs() {
    brittle b;
    int what = b.what(), ran = 0, begun = 0;
    bool threw = throws_of(what, [&] {
        fin::finish([&](fin::scope &s) {
            for (unsigned n = 1 + below(3); n-- > 0;) {
                auto body = [b, what, &ran] {
                    ends_late late;
                    pause_here();
                    CHECK_EQ(b.what(), what);
                    may_throw(what, 8);
                    ran++;
                };
                auto task = [b, what, &ran]() -> fin::task<> {
                    co_await co::yield();
                    brittle own(b);
                    co_await co::yield();
                    CHECK_EQ(own.what(), what);
                    ran++;
                };
                switch (below(5)) {
                case 0:
                    s.async(body);
                    break;
                case 1:
                    s.async(no_value(b));
                    ran++;
                    break;
                case 2:
                    s.async(std::move(body));
                    break;
                case 3:
                    s.async(task);
                    break;
                default:
                    s.async(std::move(task));
                }
                begun++;
            }
        });
    });
    CHECK_EQ(b.what(), what);
    CHECK(threw || ran == begun);
}

// With macros: bodies capture by reference.
inline void blocks() {
    brittle b;
    int what = b.what(), ran = 0;
    bool threw = throws_of(what, [&] {
        fin_finish {
            for (int i = 0; i < 3; i++) {
                fin_async {
                    ends_late late;
                    brittle own(b);
                    pause_here();
                    brittle moved(std::move(own));
                    CHECK(own.is_moved()); // NOLINT
                    may_throw(moved.what(), 8);
                    ran++;
                };
                fin_async_eager {
                    pause_here();
                    brittle own(b);
                    ran++;
                };
                if (chance(3))
                    brittle also(b);
            }
        }
    });
    CHECK(threw || ran == 6);
}

// What fails ends what would wait for ever.
inline void fails() {
    brittle b;
    int what = b.what(), told = 0;
    fin::semaphore never(0);
    bool threw = throws_of(what, [&] {
        unsigned by = below(4);
        auto waits = [&]() -> fin::task<> {
            int r = co_await co::wait(never);
            told += r == -ECANCELED;
        };
        fin::finish([&](fin::scope &s) {
            s.async([&] { told += never.acquire_cancellable() == -ECANCELED; });
            s.async(waits);
            if (by == 0)
                throw_it(what);
            if (by == 1)
                s.async([what] { throw_it(what); });
            if (by == 2)
                s.async([what]() -> fin::task<> {
                    co_await co::yield();
                    throw_it(what);
                });
            fin_finish {
                fin_async { told += never.acquire_cancellable() == -ECANCELED; };
                if (by == 3)
                    throw_it(what);
            }
        });
    });
    CHECK(threw && told >= 2);
}

inline void threads() {
    brittle b;
    int what = b.what();
    std::atomic<int> ran = 0;
    bool started = false;
    bool threw = throws_of(what, [&] {
        fin::thread t;
        auto body = [b, what, &ran](brittle &&x, const std::unique_ptr<object> &p) {
            CHECK(b.what() == what && x.what() == what && p->what() > 0);
            brittle own(std::move(x));
            fin_yield();
            ran++;
        };
        t = chance(2) ? fin::thread(body, b, std::make_unique<object>())
                      : fin::thread(std::move(body), brittle(b), std::make_unique<object>());
        started = true;
        in_danger([&] {
            if (chance(2))
                return;
            int r = t.join_cancellable();
            CHECK_OF(r, r == 0 || (r == -ECANCELED && !calm));
            CHECK_EQ(r == 0, !t.joinable());
            CHECK(r != 0 || ran == 1);
        });
        may_throw(what);
    });
    CHECK_EQ(ran, started);
    CHECK(threw || started);
}

inline void offloads() {
    brittle b;
    int what = b.what();
    bool ran = false, throws = chance(4), cancelled = false;
    bool threw = throws_of(what, [&] {
        auto body = [b, what, throws, &ran] {
            CHECK_EQ(b.what(), what);
            ran = true;
            if (throws)
                throw_it(what);
            return brittle(b);
        };
        try {
            if (chance(2)) {
                brittle got = fin::offload_nc(std::move(body));
                CHECK(ran && !throws && got.what() == what);
            } else {
                in_danger([&] { CHECK_EQ(fin::offload(body).what(), what); });
                CHECK(ran && !throws);
            }
        } catch (const std::system_error &e) {
            CHECK(e.code() == std::errc::operation_canceled && !ran && !calm);
            cancelled = true;
        }
    });
    CHECK(threw || cancelled || (ran && !throws));
    CHECK(!throws || threw || cancelled);
}

inline void inside(unsigned i) {
    CHECK_EQ(++common->inside[i], 1);
    common->counts[i]++;
}
inline void outside(unsigned i) { CHECK_EQ(--common->inside[i], 0); }
struct is_inside {
    unsigned i;
    explicit is_inside(unsigned i) : i(i) { inside(i); }
    ~is_inside() { outside(i); }
};

inline void locks() {
    brittle b;
    unsigned i = below(2);
    throws_of(b.what(), [&] {
        if (chance(2)) {
            std::lock_guard hold(common->locks[i]);
            is_inside here(i);
            pause_here();
            brittle own(b);
        } else {
            in_danger([&] {
                int r = common->locks[i].lock_cancellable();
                CHECK_OF(r, r == 0 || (r == -ECANCELED && !calm));
                if (r != 0)
                    return;
                std::lock_guard hold(common->locks[i], std::adopt_lock);
                is_inside here(i);
                pause_here();
                brittle own(b);
            });
        }
    });
}

// Each gives as many tokens as it takes.
inline void gives() {
    std::lock_guard hold(common->m);
    common->tokens++;
    common->changed.notify_one();
}
inline void tokens() {
    gives();
    bool taken = false;
    while (!taken)
        in_danger([&] {
            std::unique_lock hold(common->m);
            int r = common->changed.wait_cancellable(hold, [] { return common->tokens > 0; });
            CHECK_OF(r, r == 0 || (r == -ECANCELED && !calm));
            CHECK_EQ(r == 0, common->tokens > 0);
            if (r == 0) {
                common->tokens--;
                taken = true;
            }
        });
}

// Descriptors are closed, also while somebody waits, by whatever the block ends.
inline void descriptors() {
    brittle b;
    int fds[2];
    CHECK_EQ(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    fin::descriptor in(fds[0]), out(fds[1]), seen(fcntl(fds[0], F_DUPFD_CLOEXEC, 0));
    throws_of(b.what(), [&] {
        fin::descriptor own_out(std::move(out)), own_in;
        own_in = std::move(in);
        bool closes = false;
        fin_finish {
            fin_async {
                char c = 0;
                auto r = fin_read(own_in.get(), &c, 1);
                CHECK_OF(r, r == -ECANCELED || (r == 1 && c == 'x') || r == 0 || (r == -EBADF && closes));
            };
            brittle own(b);
            if (chance(2))
                CHECK_EQ(fin_write_nc(own_out.get(), "x", 1), 1);
            closes = chance(3);
            if (closes)
                CHECK_EQ(own_in.close(), 0);
            if (chance(2))
                own_out = fin::descriptor(); // what is read is the end
            else if (chance(2))
                CHECK_EQ(own_out.close(), 0);
            pause_here();
            if (own_out) {
                if (chance(2))
                    throw_it(b.what());
                own_out = std::move(in); // none
            }
        }
    });
    CHECK(!in && !out && seen);
    char c[2];
    while (read(seen.get(), c, 2) > 0)
        ;
    CHECK_EQ(read(seen.get(), c, 2), 0); // not -1: nobody can write
}

#endif

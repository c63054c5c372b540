// SPDX-License-Identifier: BSD-2-Clause
// How random programs in C++ have what waits cancelled, at any moment: in functions, and in coroutines.
#ifndef FIN_TESTS_DANGER_HPP
#define FIN_TESTS_DANGER_HPP

#include <chrono>

#include <fin/co_all.hpp>

#include "objects.hpp"

namespace co = fin::co;

inline std::atomic<bool> calm; // nothing is cancelled, and no timer runs
inline uint64_t short_time() { return below(60) * FIN_US; }

// Waits for others, or not at all.
inline void pause_here() {
    for (unsigned n = below(3); n-- > 0;)
        fin_yield();
    if (!calm && chance(8))
        fin_sleep_nc(short_time());
}

// Calls op(), in a block that may be cancelled at any moment. It says itself what became of it.
template <class Op> void in_danger(Op op) {
    switch (calm ? 9 : below(7)) {
    case 0:
        fin::timeout(short_time(), [&](fin::scope &) FIN_BLOCKING { op(); });
        break;
    case 1:
        fin::timeout(std::chrono::microseconds(below(60)), [&](fin::scope &s) { s.async([&] { op(); }); });
        break;
    case 2:
        fin_finish {
            fin_cancel();
            op();
        }
        break;
    case 3:
        fin_finish {
            fin_async { op(); };
            pause_here();
            fin_cancel();
        }
        break;
    case 4:
        fin::finish([&](fin::scope &s) {
            s.async([&s]() -> fin::task<> {
                for (unsigned n = below(4); n-- > 0;)
                    co_await co::yield();
                s.cancel();
            });
            op();
        });
        break;
    default:
        op();
    }
}

inline fin::task<int> passes(unsigned turns) {
    for (; turns > 0; turns--)
        co_await co::yield();
    co_return 1;
}
inline fin::task<> in_danger_co(fin::task<> op) {
    switch (calm ? 9 : below(7)) {
    case 0: {
        co::timeout limit(short_time());
        co_await std::move(op);
        co_await limit.end();
        break;
    }
    case 1:
        co_await co::within(short_time(), std::move(op));
        break;
    case 2: {
        co::finish block;
        block.cancel();
        co_await std::move(op);
        co_await block.end();
        break;
    }
    case 3:
        co_await co::when_any(std::move(op), passes(below(5)));
        break;
    case 4: {
        co::finish block;
        block.async(std::move(op));
        if (chance(2))
            co_await co::yield();
        block.cancel();
        co_await block.end();
        break;
    }
    default:
        co_await std::move(op);
    }
}

// Waits at its end, by whatever it ends. One that was moved has no end of its own.
class ends_late {
public:
    ends_late() = default;
    ends_late(ends_late &&other) noexcept : mine_(std::exchange(other.mine_, false)) {}
    ~ends_late() {
        if (mine_)
            waits();
    }

private:
    static void waits() {
        switch (below(7)) {
        case 4:
            fails();
            break;
        case 0:
            fin_finish {
                fin_async { pause_here(); };
                pause_here();
            }
            break;
        case 1:
            fin::finish_nc([](fin::scope &s) {
                s.async([]() -> fin::task<> { co_await co::yield(); });
                s.async([o = object()] { pause_here(); });
            });
            break;
        case 2:
            fin::thread([] {});
            break;
        case 3:
            fin::offload_nc([o = object()] {});
            break;
        default:
            pause_here();
        }
    }
    // Here an exception leaves a block, perhaps while another one is in flight, or is handled.
    static void fails() {
        int of = new_id(), caught = 0;
        try {
            fin::finish([of](fin::scope &s) {
                s.async([&s, own = object()] {
                    fin_yield();
                    s.async([] { pause_here(); });
                });
                pause_here();
                throw_it(of);
            });
        } catch (const thrown &t) {
            caught = t.of;
        }
        CHECK_EQ(caught, of);
    }
    bool mine_ = true;
};

// Calls what may throw of one object alone, with that.
template <class Body> bool throws_of(int what, Body body) {
    try {
        ends_late late;
        body();
        return false;
    } catch (const thrown &t) {
        CHECK_EQ(t.of, what);
        if (chance(4))
            ends_late(); // while it is handled
        try {
            throw;
        } catch (const thrown &again) {
            CHECK(&again == &t && again.of == what);
        }
        return true;
    }
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// Random programs of coroutines and functions with stacks, which start, await, cancel and wait for one another, and throw:
// every object in them ends, once, and is what it was until then. Arguments: how many programs, a seed.
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include <fin/co_all.hpp>

#include "check.h"

namespace co = fin::co;

static std::atomic<int> alive;

class object {
public:
    object() { alive++; }
    object(const object &o) {
        o.check();
        alive++;
    }
    ~object() {
        check();
        mark_ = 0;
        alive--;
    }
    object &operator=(const object &) = delete;
    void check() const { CHECK_EQ(mark_, 42); }

private:
    volatile int mark_ = 42;
};

struct thrown {
    object kept;
};

static uint64_t state;
static unsigned below(unsigned n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<unsigned>((state >> 11) % n);
}

static void may_throw() {
    if (below(9) == 0)
        throw thrown();
}

static void wait_some() {
    if (below(2))
        fin_yield();
    else
        fin_sleep(below(3) * 1000);
}

static fin::task<object> routine(int depth, object given);
static fin::task<> routine_without(int depth, object given) { (co_await routine(depth, given)).check(); }

static void function(int depth, const object &given) {
    object own(given);
    if (depth <= 0) {
        wait_some();
        may_throw();
        return;
    }
    auto deeper = [&, depth] { function(depth - 1, object(own)); };
    switch (below(6)) {
    case 0:
        fin_finish {
            for (int i = 0; i < 3; i++) {
                fin_async { deeper(); };
                if (below(5) == 0)
                    break;
            }
            may_throw();
        }
        break;
    case 1:
        fin_timeout(below(100) * FIN_US) {
            fin_async_eager { deeper(); };
            if (below(4) == 0)
                return;
            fin_sleep(FIN_MS);
        }
        break;
    case 2:
        fin::finish([&](fin::scope &s) {
            s.async(deeper);
            s.async(routine_without(depth - 1, own));
            if (below(3) == 0)
                s.cancel();
            may_throw();
        });
        break;
    case 3:
        fin::finish(routine(depth - 1, own)).check();
        break;
    case 4:
        try {
            deeper();
        } catch (const thrown &t) {
            function(depth - 2, t.kept);
            throw;
        }
        break;
    default:
        try {
            fin::offload([own] { return own; }).check();
        } catch (const std::system_error &e) {
            CHECK_EQ(e.code().value(), ECANCELED);
        }
    }
}

static fin::task<> in_a_block(int depth, object given) {
    co::timeout block(below(100) * FIN_US);
    block.async(routine_without(depth - 1, given));
    block.async([&given, depth] { function(depth - 1, given); });
    if (below(4) == 0)
        co_return;
    may_throw();
    co_await co::sleep(below(2) * FIN_MS);
    co_await block.end();
}

static fin::task<object> routine(int depth, object given) {
    object own;
    if (depth <= 0) {
        co_await co::yield();
        may_throw();
        co_return own;
    }
    auto deeper = [&] {
        function(depth - 1, own);
        return own;
    };
    switch (below(6)) {
    case 0: {
        auto [a, b] = co_await co::when_all(routine(depth - 1, own), routine_without(depth - 1, given));
        co_return a;
    }
    case 1: {
        auto first = co_await co::when_any(routine_without(depth - 1, own), routine(depth - 2, given));
        CHECK(first.index() < 2);
        break;
    }
    case 2:
        co_await in_a_block(depth, own);
        break;
    case 3:
        co_return co_await co::with_stack(deeper);
    case 4:
        try {
            co_await in_a_block(depth - 1, given);
        } catch (const thrown &t) {
            function(depth - 2, t.kept);
            throw;
        }
        break;
    default:
        co_await co::sleep(below(3) * 1000);
    }
    co_return own;
}

int main(int argc, char **argv) {
    int programs = argc > 1 ? std::atoi(argv[1]) : std::getenv("FIN_FEW") ? 1000 : 5000;
    uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 1;
    for (int i = 0; i < programs; i++) {
        state = seed + 0x9e3779b97f4a7c15u * static_cast<uint64_t>(i + 1);
        try {
            fin::finish(routine(6, object())).check();
        } catch (const thrown &t) {
            t.kept.check();
        }
        CHECK_EQ(alive, 0);
    }
    return 0;
}

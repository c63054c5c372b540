// SPDX-License-Identifier: BSD-2-Clause
// Coroutines that are lambdas with captures: async and invoke keep the closure, and what it is called with, until the task
// has ended; each is destroyed once.
#include <functional>
#include <memory>
#include <string>

#include <fin/co_all.hpp>

#include "check.h"

namespace co = fin::co;

namespace {

// As often as it is made, moved and copied it is destroyed.
struct lives {
    static inline int count = 0;
    lives() { count++; }
    lives(const lives &) { count++; }
    ~lives() { count--; }
};

std::string told;

// What is captured is still there behind each wait.
void started() {
    told.clear();
    fin::finish([](fin::scope &s) {
        for (int i = 0; i < 3; i++) {
            auto own = std::make_unique<std::string>(std::to_string(i) + " of three");
            s.async([own = std::move(own), l = lives(), i]() -> fin::task<> {
                co_await co::yield();
                told += *own + (i < 2 ? ", " : "");
                co_await co::yield();
                CHECK(*own == std::to_string(i) + " of three");
            });
        }
    });
    CHECK(told == "0 of three, 1 of three, 2 of three");
    CHECK_EQ(lives::count, 0);
}

// Not called at once, as a body with a stack is; and a closure with a name is copied.
void begun() {
    int calls = 0;
    lives l;
    auto named = [&calls, l]() -> fin::task<> {
        calls++;
        co_await co::yield();
        calls++;
    };
    fin_finish {
        fin_async_task(named);
        fin_async_task([&calls, l]() -> fin::task<> {
            co_await co::yield();
            calls++;
        });
        CHECK_EQ(calls, 0);
    }
    CHECK_EQ(calls, 3);
}

fin::task<std::string> joined(std::string a, const std::string &b, std::string &c) {
    co_await co::yield();
    c += "!";
    co_return a + b + c;
}

fin::task<> with_values() {
    const std::string a(100, 'a'), b(100, 'b');
    std::string c = "c", text;
    text = co_await co::invoke(joined, a, std::string(b), std::ref(c));
    CHECK(text == a + b + "c!");
    CHECK(c == "c!");
    lives l;
    auto counts = [l](int n) -> fin::task<int> {
        co_await co::yield();
        co_return n + 1;
    };
    auto [one, two] = co_await co::when_all(co::invoke(counts, 0), co::invoke(counts, 1));
    CHECK(one == 1 && two == 2);
    auto refers = [&c]() -> fin::task<std::string &> {
        co_await co::yield();
        co_return c;
    };
    CHECK(&co_await co::invoke(refers) == &c);
}

// One that is called once, and moves away what it owns. In an expression with co_await GCC 12 would destroy it twice.
struct gives {
    std::unique_ptr<int> own;
    fin::task<int> operator()() && {
        co_await co::yield();
        co_return *std::move(own);
    }
};

fin::task<> once() {
#if defined(__clang__) || __GNUC__ >= 13
    int x = co_await co::invoke(gives{std::make_unique<int>(42)});
    CHECK_EQ(x, 42);
#endif
    auto owns = [own = std::make_unique<int>(43)]() -> fin::task<int> {
        co_await co::yield();
        co_return *own;
    };
    int y = co_await co::invoke(std::ref(owns));
    CHECK_EQ(y, 43);
    co::finish block;
    block.async([l = lives()]() -> fin::task<> {
        int error = co_await co::sleep(FIN_S);
        CHECK_EQ(error, -ECANCELED);
        throw l;
    });
    co_await co::yield();
    block.cancel();
    bool thrown = false;
    try {
        co_await block.end();
    } catch (const lives &) {
        thrown = true;
    }
    CHECK(thrown);
}

} // namespace

int main() {
    started();
    begun();
    CHECK_EQ(lives::count, 0);
    fin_finish {
        fin_async_task(with_values());
        fin_async_task(once);
    }
    CHECK_EQ(lives::count, 0);
    {
        auto named = [l = lives()]() -> fin::task<> { co_return; };
        fin::task<> never = co::invoke(named);
        CHECK_EQ(lives::count, 2);
    }
    CHECK_EQ(lives::count, 0);
    return 0;
}

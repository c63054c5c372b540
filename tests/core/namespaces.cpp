// SPDX-License-Identifier: BSD-2-Clause
// A body's type comes from a namespace of the program's, where functions have names that Fin uses inside: those are not
// called, and do not make a call ambiguous. Nor is a type's own operator & taken.
#include <chrono>
#include <functional>

#include <fin.hpp>

#include "check.h"

namespace app {

struct counts {
    int &n;
    void operator()() const { n++; }
    counts *operator&() const { return nullptr; }
};

void never() { CHECK(!"called by Fin"); }

void invoke(counts &, int) { never(); }
template <class T> void invoke(T &, int) { never(); }
template <class... T> void call_body(T &&...) { never(); }
template <class... T> void run(T &&...) { never(); }
template <class... T> void eager(T &&...) { never(); }
template <class... T> void eager_call(T &&...) { never(); }
template <class... T> void lazy_call(T &&...) { never(); }
template <class... T> void lazy_here(T &&...) { never(); }
template <class... T> void check_not_next(T &&...) { never(); }
template <class L, class R> void operator%(L &&, R &&) { never(); }
template <class Body> void timeout(uint64_t, Body &&) { never(); }
template <class Body> void deadline(uint64_t, Body &&) { never(); }

static void in_macros(int &n) {
    fin_finish {
        fin_async { n++; };
        fin_async_eager { n++; };
        fin_async {
            fin_async { n++; };
        };
    }
}

static void in_time(int &n) {
    fin::timeout(std::chrono::hours(1), [&](fin::scope &) { n++; });
    fin::deadline(std::chrono::steady_clock::now() + std::chrono::hours(1), [&](fin::scope &) { n++; });
}

} // namespace app

int main() {
    int n = 0;
    app::in_macros(n);
    CHECK_EQ(n, 3);
    app::counts lasts{n};
    const app::counts constant{n};
    fin::finish([&](fin::scope &s) {
        s.async(app::counts{n});
        s.async(lasts);
        s.async(constant);
        s.async(std::function<void()>(app::counts{n}));
        auto any = [&](auto...) { n++; };
        s.async(std::ref(any));
    });
    CHECK_EQ(n, 8);
    app::in_time(n);
    CHECK_EQ(n, 10);
    return 0;
}

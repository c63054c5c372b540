// SPDX-License-Identifier: BSD-2-Clause
// The same for C++.
#define FIN_ELIDE
#include <chrono>
#include <cstring>
#include <memory>

#include <fin.hpp>

#include "check.h"

// Other files of the program may have the constructs.
static void without_macros() {
    check_log[0] = 0;
    fin::finish([](fin::scope &outer) {
        for (int i = 0; i < 2; i++)
            outer.async([own = std::make_unique<int>(i)] {
                fin_yield();
                LOG("b%d ", *own);
            });
        bool late = fin::timeout(0, [&](fin::scope &s) {
            fin::finish_nc([&](fin::scope &) { outer.async([] { LOG("outer "); }); });
            s.async([] { LOG("timed "); });
            s.cancel();
            CHECK(!fin_cancelled());
        });
        CHECK(!late && !fin::timeout(std::chrono::seconds(0), [](fin::scope &) {}));
        fin_timeout(std::chrono::duration<double, std::milli>(0)) { late = fin_timed_out(); } // with a comma
        fin_deadline(std::chrono::steady_clock::now()) { late |= fin_timed_out(); }
        CHECK(!late);
        LOG("end ");
    });
    bool rest = false;
    try {
        fin::finish([&](fin::scope &s) {
            s.async([] { throw 1; });
            rest = true;
        });
    } catch (int n) {
        LOG("caught %d", n);
    }
    CHECK(!rest);
    CHECK_LOG("b0 b1 outer timed end caught 1");
}

int main() {
    int sum = 0;
    fin_finish_as(outer) {
        for (int i = 0; i < 3; i++) {
            fin_async {
                fin_yield();
                sum += i;
                LOG("b%d ", i);
            };
            fin_async_eager { sum += 1; };
        }
        fin_cancel_as(outer);
        fin_cancel();
    }
    try {
        fin_finish {
            fin_async { throw 1; };
            LOG("not reached ");
        }
    } catch (int) {
        LOG("caught");
    }
    CHECK_EQ(sum, 6);
    CHECK_LOG("b0 b1 b2 caught");
    without_macros();
    return 0;
}

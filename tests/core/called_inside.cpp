// SPDX-License-Identifier: BSD-2-Clause
// Hazard: a lambda with an async belongs to the block that it is written in, but is called in a block inside that one, and
// compiled into its function.
#include <fin.hpp>

#include "check.h"

static void sleeps(void *n) {
    fin_sleep_nc(FIN_MS);
    ++*static_cast<int *>(n);
}

int main() {
    int of_outer = 0, of_inner = 0;
    fin_finish {
        auto starts = [&]() __attribute__((always_inline)) {
            fin_async {
                fin_sleep_nc(FIN_MS);
                of_outer++;
            };
            fin_async_call(sleeps, &of_outer);
        };
        fin_finish {
            fin_async {
                fin_yield();
                of_inner++;
            };
            starts();
            fin_async {
                fin_yield();
                of_inner++;
            };
            fin_cancel();
            CHECK(fin_cancelled());
        }
        CHECK_EQ(of_inner, 2);
        CHECK(!fin_cancelled());
        starts();
    }
    CHECK_EQ(of_outer, 4);
    return 0;
}

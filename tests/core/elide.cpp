// SPDX-License-Identifier: BSD-2-Clause
// The same for C++.
#define FIN_ELIDE
#include <cstring>

#include <fin.hpp>

#include "check.h"

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
    return 0;
}

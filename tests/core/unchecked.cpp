// SPDX-License-Identifier: BSD-2-Clause
// See partly_checked.cpp. What the runtime shows in place of C++'s words about exceptions, so that each switch is looked at,
// is not taken for them.
#include "leaves_a_block.hpp"

void unchecked();

static void begins_in_a_catch_clause() {
    try {
        throw 3;
    } catch (int) {
        fin_finish {
            fin_async { leaves_a_block(); };
            fin_async { fin_yield(); };
        }
        try {
            throw;
        } catch (int n) {
            CHECK_EQ(n, 3);
        }
    }
}

void unchecked() {
    leaves_a_block();
    begins_in_a_catch_clause();
}

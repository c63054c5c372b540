// SPDX-License-Identifier: BSD-2-Clause
// See partly_checked.cpp. What the runtime shows in place of C++'s words about exceptions, so that each switch is looked at,
// is not taken for them.
#include <fin.hpp>

#include "check.h"

void unchecked();

static void leaves_a_block() {
    int caught = 0, slept = 0;
    try {
        fin_finish {
            fin_async { slept = fin_sleep(60 * FIN_S); };
            fin_async {
                fin_yield();
                throw 1; // first, but the block is left by another
            };
            fin_yield();
            throw 2;
        }
    } catch (int n) {
        caught = n;
    }
    CHECK_EQ(caught, 2);
    CHECK_EQ(slept, -ECANCELED);
}

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

// SPDX-License-Identifier: BSD-2-Clause
// See plugin_host.c: the exceptions of a plugin's AWEs are known to the runtime, which began before there were any.
#include <fin.hpp>

#include "check.h"

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

static void waits_in_a_catch_clause(int own) {
    try {
        throw own;
    } catch (int) {
        fin_yield();
        try {
            throw;
        } catch (int n) {
            CHECK_EQ(n, own);
        }
    }
}

extern "C" __attribute__((visibility("default"))) void run() {
    leaves_a_block();
    fin_finish {
        for (int i = 0; i < 3; i++)
            fin_async { waits_in_a_catch_clause(i); };
    }
}

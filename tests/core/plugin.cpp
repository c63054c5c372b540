// SPDX-License-Identifier: BSD-2-Clause
// See plugin_host.c: the exceptions of a plugin's AWEs are known to the runtime, which began before there were any.
#include "leaves_a_block.hpp"

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

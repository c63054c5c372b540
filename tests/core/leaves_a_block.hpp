// SPDX-License-Identifier: BSD-2-Clause
// An exception leaves a block in which a body has thrown another, and one still waits.
#ifndef FIN_TESTS_LEAVES_A_BLOCK_HPP
#define FIN_TESTS_LEAVES_A_BLOCK_HPP

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

#endif

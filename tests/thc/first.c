// SPDX-License-Identifier: BSD-2-Clause
// An ASYNC outside any block may be the first that a thread has of the library.
#include <fin/thc.h>

#include "check.h"

static int ran;

int main(void) {
    ASYNC({
        ran++;
        THCYield();
        ran++;
    });
    CHECK_EQ(ran, 1);
    while (ran < 2)
        THCYield();
    return 0;
}

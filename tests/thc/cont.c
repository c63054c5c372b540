// SPDX-License-Identifier: BSD-2-Clause
// A continuation that an ASYNC outside any block starts is in the current block, as an async there is.
#include <fin/thc.h>

#include "check.h"

static int ran;

static void runs(void *state, int result) {
    (void)state;
    CHECK_EQ(result, 0);
    ran++;
    fin_cont_end();
}

static void starts(void) {
    ASYNC({
        CHECK(fin_async_cont(runs, NULL, 0) != NULL);
        THCYield();
        CHECK(fin_async_cont(runs, NULL, 0) != NULL);
    });
}

int main(void) {
    starts();
    while (ran < 2)
        THCYield();
    ran = 0;
    DO_FINISH({ starts(); });
    CHECK_EQ(ran, 2);
    return 0;
}

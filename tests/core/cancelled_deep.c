// SPDX-License-Identifier: BSD-2-Clause
// Whether the running AWE is cancelled is known in a few steps, also in thousands of blocks inside each other. To look at
// each of those ten million times would take hours.
#include <fin.h>

#include "check.h"

enum { DEEP = 5000, TIMES = 10000000 };

static long asked;

static FIN_BLOCKING void level(void *depth) {
    long n = (long)depth;
    fin_finish_as(here) {
        CHECK(!fin_cancelled());
        if (n < DEEP)
            fin_async_eager_call(level, (void *)(n + 1));
        for (; n == DEEP && asked < TIMES; asked++)
            CHECK(!fin_cancelled());
        if (n % 100 == 99)
            fin_cancel_as(here);
        CHECK_EQ(fin_cancelled(), n % 100 == 99);
    }
    CHECK(!fin_cancelled());
}

static FIN_BLOCKING void cancelled_around(void *depth) {
    long n = (long)depth;
    fin_finish {
        CHECK(fin_cancelled());
        if (n < 100)
            fin_async_eager_call(cancelled_around, (void *)(n + 1));
        fin_finish_nc { CHECK(!fin_cancelled()); }
    }
}

int main(void) {
    fin_finish { fin_async_eager_call(level, NULL); }
    CHECK_EQ(asked, TIMES);
    fin_finish_as(all) {
        fin_cancel_as(all);
        fin_async_eager_call(cancelled_around, NULL);
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// THCFinish in an ASYNC whose function has returned meanwhile: nothing is written to where that function's frame was.
#include <string.h>

#include <fin/thc.h>

#include "check.h"

enum { SIZE = 4096 };

static __attribute__((noinline)) void starts(int yields) {
    ASYNC({
        for (int n = yields; n > 0; n--)
            THCYield();
        THCFinish();
    });
}

// Has a frame where the other function had its own.
static __attribute__((noinline)) void stays(void) {
    volatile unsigned char room[SIZE];
    for (int i = 0; i < SIZE; i++)
        room[i] = 0x5a;
    THCYield(); // the body ends
    for (int i = 0; i < SIZE; i++)
        CHECK_EQ(room[i], 0x5a);
}

int main(void) {
    for (int i = 0; i < 10; i++)
        DO_FINISH({
            starts(1);
            stays();
            starts(0);
            stays();
        });
    return 0;
}

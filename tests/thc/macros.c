// SPDX-License-Identifier: BSD-2-Clause
// What code may look like inside the macros: commas, several statements, unbraced loops and ifs, nesting, functions without
// a finish block of their own.
#include <string.h>

#include <fin/thc.h>

#include "check.h"

static int sum;

static int two(int a, int b) { return a + b; }

static void commas(void) {
    fin_shared int x = 0, y = 0;
    DO_FINISH({
        int a = 1, b = 2;
        ASYNC({
            int c = 3, d = two(a, b);
            THCYield();
            x = two(c, d), y = d;
        });
        ASYNC(y = 1, x = 1);
    });
    CHECK_EQ(x, 6);
    CHECK_EQ(y, 3);
}

static void unbraced(void) {
    sum = 0;
    DO_FINISH(
        for (int i = 1; i <= 4; i++)
            ASYNC({
                int mine = i;
                THCYield();
                sum += mine;
            });
        if (sum == 0)
            ASYNC({ sum++; });
        else
            ASYNC({ sum = 1000; });
        while (sum < 3)
            ASYNC(sum++);
    );
    CHECK_EQ(sum, 13);
    if (sum)
        DO_FINISH({ ASYNC(sum = 1); });
    else
        DO_FINISH({ ASYNC(sum = 2); });
    CHECK_EQ(sum, 1);
}

// Several statements with no braces, as libasync's programs have it.
static void statements(void) {
    check_log[0] = 0;
    DO_FINISH(
        ASYNC(
            int i;
            for (i = 0; i < 2; i++) {
                LOG("a%d ", i);
                THCYield();
            }
            LOG("a ");
            );

        ASYNC(
            LOG("b ");
            );

        LOG("c ");
        );
    CHECK_LOG("a0 b c a1 a ");
}

static void starts(int n) {
    for (int i = 0; i < n; i++)
        ASYNC({
            int mine = i;
            LOG("s%d ", mine);
            THCYield();
            LOG("t%d ", mine);
        });
    LOG("started ");
}

static void elsewhere(void) {
    check_log[0] = 0;
    DO_FINISH({
        starts(2);
        ASYNC({
            THCYield();
            starts(2);
            LOG("over ");
        });
        LOG("end ");
    });
    LOG("done");
    CHECK_LOG("s0 s1 started end t0 t1 s0 s1 started over t0 t1 done");
}

static void nested(void) {
    check_log[0] = 0;
    DO_FINISH({
        ASYNC({
            ASYNC({
                ASYNC({
                    THCYield();
                    LOG("3 ");
                });
                THCYield();
                LOG("2 ");
            });
            THCYield();
            LOG("1 ");
        });
        DO_FINISH({
            ASYNC({
                THCYield();
                LOG("inner ");
            });
        });
        LOG("0 ");
    });
    CHECK_LOG("3 2 1 inner 0 ");
}

static int returns(void) {
    DO_FINISH({
        ASYNC({
            THCYield();
            if (sum)
                return;
            sum = 99;
        });
        for (int i = 0; i < 3; i++)
            if (i == 1)
                break;
    });
    return sum;
}

static void tagged(void) {
    sum = 0;
    DO_FINISH_(outer, {
        DO_FINISH_(inner, {
            ASYNC_({ THCYield(); sum++; }, inner);
            ASYNC_(sum++, outer);
        });
        CHECK_EQ(sum, 2);
    });
}

int main(void) {
    commas();
    unbraced();
    statements();
    elsewhere();
    nested();
    sum = 5;
    CHECK_EQ(returns(), 5);
    tagged();
    return 0;
}

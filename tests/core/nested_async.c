// SPDX-License-Identifier: BSD-2-Clause
// Hazard: a finish block notes one pending async. An async directly inside the body of another has a note of its own, obeys
// rule Async-2 (the inner body joins the block's pool; the outer one goes on) and cancel means the block that was written.
#include <string.h>

#include <fin.h>

#include "check.h"

static void inner_blocks(void) {
    fin_finish {
        fin_async {
            LOG("a ");
            fin_async {
                LOG("b ");
                fin_yield();
                LOG("B ");
            };
            LOG("c ");
            fin_yield();
            LOG("C ");
        };
        LOG("d ");
    }
    LOG("end");
    CHECK_LOG("a b c d B C end");
    check_log[0] = 0;
}

static void inner_outlives_outer(void) {
    fin_finish {
        fin_async {
            fin_async {
                fin_async {
                    fin_yield();
                    LOG("deep ");
                    fin_cancel();
                };
                fin_yield();
                fin_yield();
                LOG("inner %d ", fin_cancelled());
            };
            LOG("outer ends ");
        };
        LOG("owner ");
    }
    CHECK_LOG("outer ends owner deep inner 1 ");
    check_log[0] = 0;
}

static void nothing_blocks(void) {
    fin_finish {
        fin_async {
            LOG("1 ");
            fin_async { LOG("2 "); };
            LOG("3 ");
            fin_async_eager { LOG("4 "); };
        };
        LOG("5 ");
    }
    CHECK_LOG("1 2 3 4 5 ");
    check_log[0] = 0;
}

static void inner_after_outer_blocked(void) {
    fin_finish {
        for (int i = 0; i < 3; i++) {
            fin_async {
                int mine = i;
                fin_yield();
                fin_async {
                    LOG("x ");
                    fin_yield();
                    LOG("X ");
                };
                LOG("y%d ", mine);
            };
        }
    }
    CHECK_LOG("x y0 x y1 x y2 X X X ");
    check_log[0] = 0;
}

// GNU C finds `sum` through the frames of the bodies between, which have ended: they are kept.
static void uses_locals_of_the_function(int rounds) {
    fin_shared int sum = 0, ended = 0;
    fin_finish {
        for (int i = 0; i < rounds; i++) {
            fin_async {
                fin_async {
                    int odd = i % 2;
                    fin_async {
                        fin_yield();
                        fin_yield();
                        sum += 1;
                        ended++;
                    };
                    if (odd)
                        fin_yield();
                    sum += 1;
                    ended++;
                };
                ended++;
                if (i % 3 == 0)
                    fin_yield();
            };
        }
        CHECK(ended >= rounds);
    }
    CHECK_EQ(ended, 3 * rounds);
    CHECK_EQ(sum, 2 * rounds);
}

int main(void) {
    for (int i = 0; i < 100; i++) {
        inner_blocks();
        inner_outlives_outer();
        nothing_blocks();
        inner_after_outer_blocked();
        uses_locals_of_the_function(i);
    }
    struct fin_stats stats;
    fin_stats(&stats);
    CHECK_EQ(stats.stacks_used, 1); // the scheduler's
    return 0;
}

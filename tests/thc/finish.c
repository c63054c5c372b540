// SPDX-License-Identifier: BSD-2-Clause
// THCFinish and THCAbort end their AWE alone, wherever it is, and its block ends all the same; a thread's request to stop.
#include <string.h>

#include <fin/thc.h>

#include "check.h"

static void __attribute__((noinline)) deep(int n, int yields) {
    char frame[64];
    memset(frame, n, sizeof frame);
    if (n > 0)
        deep(n - 1, yields);
    else {
        for (int i = 0; i < yields; i++)
            THCYield();
        THCFinish();
    }
    CHECK(frame[0] == 0 && "not reached");
}

static void ends(int rounds) {
    for (int i = 0; i < rounds; i++) {
        check_log[0] = 0;
        DO_FINISH({
            ASYNC({
                deep(10, 0); // before it blocks
                LOG("no");
            });
            LOG("1 ");
            ASYNC({
                deep(10, 2); // after it blocked
                LOG("no");
            });
            LOG("2 ");
            ASYNC({
                THCYield();
                LOG("y ");
            });
        });
        LOG("after");
        CHECK_LOG("1 2 y after");
    }
}

// The blocks that the AWE has open are waited for.
static void with_open_blocks(int yields) {
    check_log[0] = 0;
    fin_shared int marks = 0;
    DO_FINISH({
        ASYNC({
            int mine = 7;
            DO_FINISH({
                ASYNC({
                    THCYield();
                    LOG("a%d ", mine);
                });
                DO_FINISH({
                    ASYNC({
                        THCYield();
                        THCYield();
                        LOG("b%d ", mine);
                        marks++;
                    });
                    ASYNC({
                        THCYield();
                        LOG("c%d ", mine);
                        marks++;
                    });
                    for (int i = 0; i < yields; i++)
                        THCYield();
                    THCAbort();
                });
            });
            LOG("no");
        });
        LOG("on ");
        ASYNC(marks++);
    });
    CHECK_EQ(marks, 3);
    CHECK_LOG(yields ? "on a7 c7 b7 " : "on a7 c7 b7 ");
}

// An ASYNC directly inside the one that ends goes on, and may use what is around both.
static void with_inner_async(void) {
    check_log[0] = 0;
    fin_shared int around = 1;
    DO_FINISH({
        ASYNC({
            ASYNC({
                THCYield();
                around++;
                LOG("inner%d ", around);
            });
            THCFinish();
        });
        LOG("on%d ", around);
    });
    LOG("after%d", around);
    CHECK_LOG("on1 inner2 after2");
}

// What the stacks had on them is not there any more.
static __attribute__((noinline)) void dirty(void) {
    char room[8192];
    memset(room, 0x5a, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
    THCYield();
}

static void overwrite(void) {
    DO_FINISH({
        for (int i = 0; i < 16; i++)
            ASYNC({ dirty(); });
    });
}

// The time of what it ends in is over later: nobody looks at that any more. There are other timers, before and after it.
static void in_a_timeout(void) {
    fin_shared int ended = 0;
    fin_timeout(20 * FIN_S) {
        DO_FINISH({
            for (int i = 0; i < 8; i++)
                ASYNC({
                    int mine = i;
                    fin_timeout((uint64_t)(mine * 5 % 8 + 1) * FIN_MS) {
                        fin_deadline(fin_now() + 4 * FIN_MS) {
                            THCYield();
                            ended++;
                            if (mine % 2)
                                THCFinish();
                        }
                    }
                });
        });
        CHECK_EQ(ended, 8);
        overwrite();
        CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
    }
}

// libasync's example of THCAbort.
static void stops(void) {
    check_log[0] = 0;
    thc_init();
    CHECK(!THCShouldStop());
    DO_FINISH(
        ASYNC(
            for (int i = 0; i < 3; i++)
                THCYield();
            THCStopAllAwes();
            LOG("stop ");
            THCAbort();
            );

        ASYNC(
            while (!THCShouldStop())
                THCYield();
            LOG("1 ");
            THCAbort();
            );

        ASYNC(
            while (!THCShouldStop())
                THCYield();
            LOG("2 ");
            THCAbort();
            );

        ASYNC(
            LOG("3 ");
            THCAbort();
            );
        LOG("on ");
        );
    CHECK_LOG("3 on stop 1 2 ");
    thc_done();
    CHECK(!THCShouldStop());
}

int main(void) {
    ends(2000);
    for (int i = 0; i < 300; i++) {
        with_open_blocks(0);
        with_open_blocks(1);
        with_inner_async();
    }
    stops();
    struct fin_stats s, before;
    fin_stats(&s);
    CHECK(s.stacks <= 64); // none was lost
    for (int i = 0; i < 3; i++) {
        in_a_timeout();
        fin_stats(i ? &s : &before);
    }
    CHECK_EQ(s.stacks, before.stacks);
    return 0;
}

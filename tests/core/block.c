// SPDX-License-Identifier: BSD-2-Clause
// A finish block that is cancelled by who is not in it: a function that knows it by its address cancels that block, what it
// contains, and nothing else.
#include <string.h>

#include <fin.h>

#include "check.h"

enum { MANY = 5 };

static struct fin_finish_block *idle[MANY]; // of connections that wait for a request
static int result[MANY], busy;

static FIN_BLOCKING void serves(void *number) {
    int i = (int)(intptr_t)number;
    while (result[i] == 0) {
        fin_finish {
            idle[i] = fin_this_block();
            result[i] = fin_sleep(i == 1 ? FIN_MS : 20 * FIN_S);
            idle[i] = NULL;
        }
        if (result[i] == 0) {
            busy++;
            CHECK_EQ(fin_sleep(5 * FIN_MS), 0); // a request is not cut off
            result[i] = 1;
        }
    }
}

static void end_idle(void) {
    for (int i = 0; i < MANY; i++)
        if (idle[i])
            fin_cancel_block(idle[i]);
}

static void idle_ones_end(void) {
    fin_finish {
        for (int i = 0; i < MANY; i++)
            fin_async_call(serves, (void *)(intptr_t)i);
        while (!busy)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        end_idle();
        end_idle(); // as often as one likes
        CHECK(!fin_cancelled());
    }
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(result[i], i == 1 ? 1 : -ECANCELED);
}

static struct fin_finish_block *outer, *inner;

static FIN_BLOCKING void waits_within(void *unused) {
    (void)unused;
    fin_finish_as(around) {
        fin_finish {
            fin_finish_nc {
                outer = fin_block_as(around);
                inner = fin_this_block();
                CHECK(inner != outer);
                CHECK_EQ(fin_sleep(3 * FIN_MS), 0);
                LOG("shielded ");
                fin_finish {
                    inner = fin_this_block();
                    CHECK_EQ(fin_sleep(20 * FIN_S), -ECANCELED);
                    LOG("inner ");
                }
            }
            CHECK_EQ(fin_sleep(20 * FIN_S), -ECANCELED);
            LOG("outer ");
        }
    }
    CHECK(!fin_cancelled());
    CHECK_EQ(fin_sleep(1), 0);
}

static void nested(void) {
    fin_finish {
        fin_async_call(waits_within, NULL);
        fin_cancel_block(outer);
        CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
        CHECK_LOG("shielded ");
        fin_cancel_block(inner);
    }
    CHECK_LOG("shielded inner outer ");
}

// It is the one that fin_cancel would have.
static void its_own(void) {
    fin_finish_as(all) {
        fin_finish {
            CHECK(fin_this_block() != fin_block_as(all));
            fin_cancel_block(fin_this_block());
            CHECK_EQ(fin_sleep(FIN_S), -ECANCELED);
        }
        CHECK(!fin_cancelled());
        CHECK(fin_this_block() == fin_block_as(all));
        fin_cancel_block(fin_block_as(all));
        CHECK(fin_cancelled());
    }
}

int main(void) {
    idle_ones_end();
    nested();
    its_own();
    return 0;
}

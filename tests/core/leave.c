// SPDX-License-Identifier: BSD-2-Clause
// return, break, continue and goto leave a finish block only when its work is done; nested blocks end inside out.
#include <string.h>

#include <fin.h>

#include "check.h"

static void tick(void *log) {
    (void)log;
    fin_yield();
    LOG("t");
}

static int by_return(int n) {
    fin_finish {
        fin_async_call(tick, NULL);
        if (n)
            return n;
        LOG("not reached");
    }
    return -1;
}

static void by_break(void) {
    for (int i = 0; i < 2; i++) {
        fin_finish {
            fin_async_call(tick, NULL);
            if (i == 0)
                break; // leaves the finish block, as it would a do..while
            LOG("x");
        }
        LOG("%d", i);
    }
}

static void by_continue(void) {
    fin_finish {
        fin_async_call(tick, NULL);
        if (check_log[0] == 0)
            continue;
        LOG("not reached");
    }
    LOG("c");
}

static void by_goto(void) {
    fin_finish {
        fin_async_call(tick, NULL);
        fin_finish {
            fin_async_call(tick, NULL);
            goto out;
        }
        LOG("not reached");
    }
out:
    LOG("o");
}

int main(void) {
    CHECK_EQ(by_return(7), 7);
    CHECK_LOG("t");
    check_log[0] = 0;
    by_break();
    CHECK_LOG("t0xt1");
    check_log[0] = 0;
    by_continue();
    CHECK_LOG("tc");
    check_log[0] = 0;
    by_goto();
    CHECK_LOG("tto");
    check_log[0] = 0;
    // many blocks in a loop of one function: none may leave stack behind
    for (int i = 0; i < 300000; i++) {
        CHECK_EQ(by_return(i | 1), i | 1);
        check_log[0] = 0;
    }
    char *lowest = NULL;
    for (int i = 0; i < 300000; i++) {
        fin_finish {
            char here;
            if (!lowest)
                lowest = &here;
            CHECK(&here == lowest);
            fin_async_call(tick, NULL);
        }
        check_log[0] = 0;
    }
    struct fin_stats stats;
    fin_stats(&stats);
    CHECK(stats.stacks_used <= 2); // the scheduler's
    return 0;
}

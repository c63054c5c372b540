// SPDX-License-Identifier: BSD-2-Clause
// A finish block and who is not in it: a function that knows it by its address cancels that block, what it contains, and
// nothing else; or starts asyncs in it.
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

// The loop of a library that knows nothing of Fin: it calls back, and returns.
static void loop(void (*callback)(int n), int times) {
    for (int i = 0; i < times; i++)
        callback(i);
}

static struct fin_finish_block *work;
static int ended;

static FIN_BLOCKING void works(void *number) {
    int n = (int)(intptr_t)number;
    if (n % 2 == 0)
        CHECK_EQ(fin_sleep(FIN_MS), n == 4 ? -ECANCELED : 0);
    ended++;
    if (n < 100 && n % 3 == 0)
        fin_async_in(work, works, (void *)(intptr_t)(n + 100)); // the body that starts it ends first
}

static void step(void *number, int unused) {
    (void)unused;
    works(*(void **)number);
    fin_cont_end();
}

static void on_event(int n) {
    void *number = (void *)(intptr_t)n;
    if (n == 5)
        CHECK(fin_async_cont_in(work, step, &number, sizeof number) != NULL);
    else
        fin_async_in(work, works, number);
}

static void callbacks(void) {
    ended = 0;
    fin_finish {
        work = fin_this_block();
        loop(on_event, 4);
        CHECK(ended < 4);
        fin_finish { // of the callback's caller: not the one that they are in
            loop(on_event, 2);
        }
        CHECK(ended < 6);
    }
    CHECK_EQ(ended, 6 + 3); // 0 twice, 3
    fin_finish {
        work = fin_this_block();
        on_event(4);
        on_event(5);
        fin_cancel_block(work);
    }
    CHECK_EQ(ended, 9 + 2);
}

// In the block of one AWE by another, while its owner waits at its end.
static void of_another(void) {
    static bool closing;
    ended = 0;
    fin_finish {
        fin_async {
            fin_finish {
                work = fin_this_block();
                fin_async_call(works, (void *)2);
                closing = true;
            }
            CHECK_EQ(ended, 3);
        };
        CHECK(closing);
        fin_finish {
            fin_async_in(work, works, (void *)1);
            fin_async_in(work, works, (void *)10);
        }
        CHECK_EQ(ended, 1);
    }
}

int main(void) {
    callbacks();
    of_another();
    idle_ones_end();
    nested();
    its_own();
    return 0;
}

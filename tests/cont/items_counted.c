// SPDX-License-Identifier: BSD-2-Clause
// A step that adds a cancel item in its frame and removes it may wait with a continuation, at a cost that does not depend on
// what else waits in the block: to look at all of that each time would take minutes. With one that is left there it is
// refused, also where others have been removed, until a cancel has taken it.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fin.h>

#include "check.h"

enum { IDLE = 20000, TIMES = 1000000 };

static long left;
static bool refused;

static void nothing(void *unused) { (void)unused; }

static void end(void *state, int result) {
    (void)state;
    (void)result;
    fin_cont_end();
}

static void idle(void *state, int result) {
    (void)state;
    (void)result;
    fin_block_on(end, NULL, 0);
}

static void step(void *state, int result) {
    struct fin_cancel_item item;
    (void)state;
    (void)result;
    fin_cancel_item_add(&item, nothing, NULL);
    CHECK(fin_cancel_item_remove(&item));
    CHECK(!fin_cancel_item_remove(&item));
    if (--left == 0)
        fin_cont_end();
    fin_yield_on(step, NULL, 0);
}

static void leaves_one(void *state, int result) {
    struct fin_cancel_item items[300];
    (void)state;
    (void)result;
    for (int many = 2; many <= 300; many += 298) {
        for (int i = 0; i < many; i++)
            fin_cancel_item_add(&items[i], nothing, NULL);
        for (int i = 0; i < many; i++) {
            CHECK_EQ(fin_block_on(end, NULL, 0), -EBUSY);
            CHECK(fin_cancel_item_remove(&items[i]));
        }
    }
    fin_cancel_item_add(&items[0], nothing, NULL);
    fin_yield();
    CHECK_EQ(fin_block_on(end, NULL, 0), -EBUSY);
    refused = true;
    fin_yield();
    CHECK(!fin_cancel_item_remove(&items[0])); // it ran
    fin_block_on(end, NULL, 0);
    CHECK(!"refused");
}

// An item of another AWE in its frame is not counted there, so it takes nothing off the count when it goes.
static struct fin_cancel_item *theirs;
static bool added;

static void has_anothers(void *state, int result) {
    struct fin_cancel_item mine, other;
    (void)state;
    (void)result;
    theirs = &other;
    while (!added)
        fin_yield();
    fin_cancel_item_add(&mine, nothing, NULL);
    CHECK(fin_cancel_item_remove(&other));
    CHECK_EQ(fin_block_on(end, NULL, 0), -EBUSY);
    refused = true;
    CHECK(fin_cancel_item_remove(&mine));
    fin_block_on(end, NULL, 0);
    CHECK(!"refused");
}

static void in_anothers_frame(void) {
    refused = false;
    fin_finish {
        CHECK(fin_async_cont(has_anothers, NULL, 0));
        fin_async {
            while (!theirs)
                fin_yield();
            fin_cancel_item_add(theirs, nothing, NULL);
            added = true;
        };
        fin_yield();
        while (!added)
            fin_yield();
        fin_yield();
        fin_cancel();
    }
    CHECK(refused);
}

int main(void) {
    left = getenv("FIN_FEW") ? TIMES / 10 : TIMES;
    fin_finish_as(all) {
        for (int i = 0; i < IDLE; i++)
            CHECK(fin_async_cont(idle, NULL, 0));
        CHECK(fin_async_cont(step, NULL, 0));
        while (left > 0)
            fin_yield();
        fin_cancel_as(all);
    }
    fin_finish_as(more) {
        CHECK(fin_async_cont(leaves_one, NULL, 0));
        while (!refused)
            fin_yield();
        fin_cancel_as(more);
    }
    in_anothers_frame();
    return 0;
}

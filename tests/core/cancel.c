// SPDX-License-Identifier: BSD-2-Clause
// Cancel runs the items of the block and of the blocks in it, newest first, not below a shielded one; what is added later
// fires at once; a removed item does not.
#include <string.h>

#include <fin.h>

#include "check.h"

static void say(void *text) { LOG("%s ", (char *)text); }

struct waiter {
    struct fin_awe *awe;
    bool cancelled;
};

static void stop_waiting(void *arg) {
    struct waiter *w = arg;
    w->cancelled = true;
    fin_schedule(w->awe);
}

// The shape of every cancellable operation.
static int wait_for_ever(void) {
    struct waiter w = {NULL, false};
    struct fin_cancel_item item;
    if (fin_cancelled())
        return -ECANCELED;
    fin_cancel_item_add(&item, stop_waiting, &w);
    fin_suspend(&w.awe);
    CHECK(!fin_cancel_item_remove(&item));
    CHECK(fin_cancel_item_ran(&item));
    return w.cancelled ? -ECANCELED : 0;
}

static void waits(void *n) {
    CHECK_EQ(wait_for_ever(), -ECANCELED);
    ++*(int *)n;
}

static void order_and_removal(void) {
    struct fin_cancel_item a, b, c, d;
    fin_finish {
        fin_cancel_item_add(&a, say, "a");
        fin_cancel_item_add(&b, say, "b");
        fin_cancel_item_add(&c, say, "c");
        CHECK(fin_cancel_item_remove(&b));
        CHECK(!fin_cancel_item_remove(&b));
        CHECK(!fin_cancel_item_ran(&b));
        CHECK(!fin_cancelled());
        fin_cancel();
        fin_cancel();
        CHECK(fin_cancelled());
        CHECK(!fin_cancel_item_remove(&a));
        CHECK(fin_cancel_item_ran(&a) && !fin_cancel_item_ran(&b));
        fin_cancel_item_add(&d, say, "late");
        CHECK(!fin_cancel_item_remove(&d));
        fin_finish {
            CHECK(fin_cancelled());
            fin_cancel_item_add(&d, say, "inside");
        }
    }
    CHECK(!fin_cancelled());
    CHECK_LOG("c a late inside ");
    fin_finish { fin_cancel_item_add(&a, say, "forgotten"); }
    CHECK(!fin_cancel_item_ran(&a) && !fin_cancel_item_remove(&a));
}

static void reaches_what_is_inside(void) {
    fin_shared int stopped = 0, shielded = 0;
    fin_finish_as(outer) {
        for (int i = 0; i < 4; i++) {
            fin_async {
                fin_finish {
                    fin_async_call(waits, &stopped);
                    fin_finish {
                        fin_async_eager_call(waits, &stopped);
                        waits(&stopped);
                    }
                }
            };
        }
        fin_async {
            fin_finish_nc {
                fin_async {
                    fin_yield();
                    CHECK(!fin_cancelled());
                    shielded++;
                };
                fin_finish {
                    struct fin_cancel_item item;
                    fin_cancel_item_add(&item, say, "never");
                    fin_yield();
                    fin_yield();
                    CHECK(fin_cancel_item_remove(&item));
                }
            }
            CHECK(fin_cancelled());
        };
        CHECK_EQ(stopped, 0);
        fin_finish {
            fin_cancel_as(outer);
        }
    }
    CHECK_EQ(stopped, 12);
    CHECK_EQ(shielded, 1);
    CHECK_LOG("c a late inside ");
}

// The inner block alone.
static void only_the_inner_block(void) {
    fin_shared int inner = 0, outer = 0;
    fin_finish_as(all) {
        fin_async_call(waits, &outer);
        fin_finish {
            fin_async_call(waits, &inner);
            fin_cancel();
        }
        CHECK_EQ(inner, 1);
        CHECK_EQ(outer, 0);
        fin_cancel_as(all);
        CHECK_EQ(wait_for_ever(), -ECANCELED);
    }
    CHECK_EQ(outer, 1);
}

// Who waited in a block inside, where the list is in use, knows it afterwards, and in further blocks.
static void known_inside(void) {
    fin_shared int ended = 0;
    fin_finish_as(all) {
        fin_async {
            fin_finish {
                CHECK_EQ(wait_for_ever(), -ECANCELED);
                CHECK(fin_cancelled());
                CHECK_EQ(wait_for_ever(), -ECANCELED);
                fin_finish {
                    CHECK(fin_cancelled());
                    CHECK_EQ(wait_for_ever(), -ECANCELED);
                }
                fin_finish_nc {
                    CHECK(!fin_cancelled());
                }
                ended++;
            }
        };
        fin_cancel_as(all);
        CHECK_EQ(wait_for_ever(), -ECANCELED);
    }
    CHECK(!fin_cancelled());
    CHECK_EQ(ended, 1);
}

// An item that is not removed before its block ends is no danger to the blocks around it.
static void forgotten_item(void) {
    struct fin_cancel_item item;
    fin_finish {
        fin_finish {
            fin_cancel_item_add(&item, say, "forgotten");
        }
        CHECK(!fin_cancel_item_remove(&item));
        fin_cancel();
    }
    CHECK_LOG("c a late inside ");
}

int main(void) {
    order_and_removal();
    reaches_what_is_inside();
    only_the_inner_block();
    known_inside();
    forgotten_item();
    return 0;
}

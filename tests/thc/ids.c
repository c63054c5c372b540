// SPDX-License-Identifier: BSD-2-Clause
// The mapper and the directed yields of libasync, with what its table could not tell: an id that names nothing, a stale one,
// a full table.
#include <string.h>

#include <fin/thc.h>

#include "check.h"

static void yields(void) {
    awe_mapper_init();
    static uint32_t one, two;
    CHECK_EQ(awe_mapper_create_id(&one), 0);
    CHECK_EQ(awe_mapper_create_id(&two), 0);
    CHECK(one != 0 && two != 0 && one != two);
    CHECK(awe_mapper_get_awe_ptr(one) == NULL);
    CHECK(THCYieldToId(one) != 0);
    DO_FINISH({
        ASYNC({
            THCYieldAndSave(one);
            LOG("one ");
            CHECK_EQ(THCYieldToIdAndSave(two, one), 0);
            LOG("one again ");
        });
        ASYNC({
            THCYieldAndSave(two);
            LOG("two ");
            CHECK(awe_mapper_get_awe_ptr(two) == NULL);
            CHECK_EQ(THCYieldToId(one), 0);
            LOG("two again ");
        });
        CHECK(awe_mapper_get_awe_ptr(one) != NULL);
        CHECK_EQ(THCYieldToId(one), 0);
        LOG("main ");
    });
    CHECK_LOG("one two one again main two again ");
    CHECK(THCYieldToId(one) != 0);
    awe_mapper_remove_id(one);
    awe_mapper_remove_id(two);
}

static void no_dispatch(void) {
    check_log[0] = 0;
    static uint32_t a, b;
    awe_mapper_create_id(&a);
    awe_mapper_create_id(&b);
    DO_FINISH({
        ASYNC({
            THCYieldAndSaveNoDispatch(a);
            for (int i = 0; i < 3; i++) {
                LOG("a%d ", i);
                THCYield(); // b does not run: it is not in the queue
                CHECK_EQ(THCYieldToIdAndSaveNoDispatch(b, a), 0);
            }
            LOG("a ");
        });
        THCYield();
        CHECK_LOG(""); // nor is a
        ASYNC({
            for (int i = 0; i < 3; i++) {
                LOG("b%d ", i);
                CHECK_EQ(THCYieldToIdAndSave_NoDispatch(a, b), 0);
            }
            LOG("b ");
            CHECK_EQ(THCYieldToId(a), 0);
        });
    });
    CHECK_LOG("b0 a0 b1 a1 b2 a2 b a ");

    // without an id the one that stops can be found through the mapper only if it is saved there
    check_log[0] = 0;
    static awe_t *back;
    DO_FINISH({
        ASYNC({
            THCYieldAndSaveNoDispatch(a);
            LOG("a ");
            awe_mapper_set_id(b, back);
            CHECK(awe_mapper_get_awe_ptr(b) == back);
            CHECK_EQ(THCYieldToId(b), 0);
            LOG("a again ");
        });
        ASYNC({
            THCSuspend(&back);
            LOG("back ");
        });
        CHECK_EQ(THCYieldToId(a), 0);
        LOG("main ");
    });
    CHECK_LOG("a back main a again ");
    awe_mapper_remove_id(a);
    awe_mapper_remove_id(b);
    CHECK(THCYieldToIdNoDispatch(a) != 0);
    CHECK(THCYieldToIdAndSaveNoDispatch(a, b) != 0);
    THCYieldAndSave(a); // a yield
    THCYieldAndSaveNoDispatch(0);
}

// One that is off the queue is put there by THCSchedule, at its head, and by THCScheduleBack, at its tail.
static void scheduled(void) {
    check_log[0] = 0;
    static uint32_t first, last;
    awe_mapper_create_id(&first);
    awe_mapper_create_id(&last);
    DO_FINISH({
        ASYNC({
            THCYieldAndSaveNoDispatch(first);
            LOG("first ");
        });
        ASYNC({
            THCYieldAndSaveNoDispatch(last);
            LOG("last ");
        });
        ASYNC({
            THCYield();
            LOG("between ");
        });
        THCScheduleBack(awe_mapper_get_awe_ptr(last));
        THCSchedule(awe_mapper_get_awe_ptr(first));
        THCSchedule(awe_mapper_get_awe_ptr(first)); // is queued: nothing
        LOG("main ");
    });
    CHECK_LOG("main first between last ");
    CHECK(awe_mapper_get_awe_ptr(first) == NULL);
    CHECK(THCYieldToId(last) != 0);
    awe_mapper_remove_id(first);
    awe_mapper_remove_id(last);
}

static void table(void) {
    static uint32_t ids[1 << 20], stale, again;
    uint32_t n = 0;
    CHECK_EQ(awe_mapper_create_id(&stale), 0);
    awe_mapper_remove_id(stale);
    while (n < sizeof ids / sizeof *ids && awe_mapper_create_id(&ids[n]) == 0) {
        CHECK(ids[n] != 0 && ids[n] != stale);
        n++;
    }
    CHECK(n > 1000000);
    CHECK(awe_mapper_create_id(&again) != 0);
    CHECK(awe_mapper_get_awe_ptr(stale) == NULL);
    CHECK(THCYieldToId(stale) != 0);
    CHECK(THCYieldToId(ids[n - 1]) != 0);
    CHECK(THCYieldToId(0) != 0);
    CHECK(THCYieldToId(0xffffffff) != 0);
    while (n-- > 0)
        awe_mapper_remove_id(ids[n]);
    CHECK_EQ(awe_mapper_create_id(&again), 0);
    awe_mapper_uninit();
}

int main(void) {
    THCYield(); // nothing was started: the walk for a pending ASYNC ends at main
    yields();
    no_dispatch();
    scheduled();
    table();
    return 0;
}

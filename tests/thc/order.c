// SPDX-License-Identifier: BSD-2-Clause
// The order of execution that programs rely on: a body runs at once, its continuation before anything queued; first in,
// first out; THCSchedule at the head, THCScheduleBack at the tail; THCYieldTo now.
#include <string.h>

#include <fin/thc.h>

#include "check.h"

static void yields(void) {
    DO_FINISH({
        for (int i = 0; i < 3; i++)
            ASYNC({
                int a = i, b = a;
                LOG("b%d ", b);
                THCYield();
                LOG("c%d ", a);
            });
        LOG("end ");
    });
    LOG("after");
    CHECK_LOG("b0 b1 b2 end c0 c1 c2 after");
}

static awe_t *slots[3];

static void suspended(int me) {
    THCSuspend(&slots[me]);
    LOG("s%d ", me);
}

static void schedules(void) {
    check_log[0] = 0;
    DO_FINISH({
        for (int i = 0; i < 3; i++)
            ASYNC(suspended(i));
        ASYNC({
            THCYield();
            LOG("y ");
        });
        THCScheduleBack(slots[0]);
        THCSchedule(slots[1]);
        THCSchedule(slots[2]);
        LOG("all ");
    });
    CHECK_LOG("all s2 s1 y s0 ");
}

static void then(void *arg) { LOG("then%d ", **(awe_t ***)arg != NULL); }

static void suspend_then(void) {
    check_log[0] = 0;
    DO_FINISH({
        ASYNC({
            awe_t **slot = &slots[0];
            *slot = NULL;
            THCSuspendThen(slot, then, &slot);
            LOG("back ");
        });
        LOG("on ");
        THCSchedule(slots[0]);
    });
    CHECK_LOG("then1 on back ");
}

// YieldTo of one that is suspended, then of one that is queued: neither runs twice, and the caller goes to the tail.
static void yields_to(void) {
    check_log[0] = 0;
    DO_FINISH({
        ASYNC(suspended(0));
        ASYNC(suspended(1));
        ASYNC({
            THCYield();
            LOG("queued ");
        });
        THCYieldTo(slots[1]);
        LOG("me ");
        THCScheduleBack(slots[0]);
        THCYieldTo(slots[0]);
        LOG("me ");
    });
    CHECK_LOG("s1 queued me s0 me ");
}

int main(void) {
    yields();
    schedules();
    suspend_then();
    yields_to();
    return 0;
}

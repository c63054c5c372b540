// SPDX-License-Identifier: BSD-2-Clause
// Directed yields: to a suspended and to a queued AWE, with continuations that have not run yet, and to AWEs that do not
// wait.
#include <string.h>

#include <fin.h>

#include "check.h"

static void to_suspended(void) {
    fin_shared struct fin_awe *waiter = NULL;
    fin_finish {
        fin_async {
            fin_suspend(&waiter);
            LOG("woken ");
        };
        fin_async {
            LOG("to ");
            CHECK_EQ(fin_yield_to(waiter), 0);
            LOG("back ");
        };
        LOG("owner ");
    }
    // the pending owner is queued before the AWE that yielded, and both after the one that runs now
    CHECK_LOG("to woken owner back ");
    check_log[0] = 0;
}

static void to_queued(void) {
    fin_shared struct fin_awe *first = NULL;
    fin_finish {
        fin_async {
            fin_suspend(&first);
            LOG("first ");
        };
        fin_async {
            fin_yield();
            LOG("second ");
        };
        CHECK_EQ(fin_schedule(first), 0);
        CHECK_EQ(fin_schedule(first), -EALREADY);
        LOG("yield ");
        CHECK_EQ(fin_yield_to(first), 0); // leaves the queue
        LOG("owner ");
    }
    CHECK_LOG("yield first second owner ");
    check_log[0] = 0;
}

// Several owners are pending, innermost first in the queue.
static void many_pending(void) {
    fin_shared struct fin_awe *waiter = NULL;
    fin_finish {
        fin_async {
            fin_suspend(&waiter);
            LOG("waiter ");
        };
        fin_async {
            fin_finish {
                fin_async_eager {
                    fin_finish {
                        fin_async {
                            CHECK_EQ(fin_yield_to(waiter), 0);
                            LOG("innermost ");
                        };
                        LOG("a ");
                    }
                    LOG("A ");
                };
                LOG("b ");
            }
            LOG("B ");
        };
        LOG("c ");
    }
    CHECK_LOG("waiter a b c innermost A B ");
    check_log[0] = 0;
}

static void front(void) {
    fin_shared struct fin_awe *a = NULL, *b = NULL;
    fin_finish {
        fin_async {
            fin_suspend(&a);
            LOG("a ");
        };
        fin_async {
            fin_suspend(&b);
            LOG("b ");
        };
        CHECK_EQ(fin_schedule(a), 0);
        CHECK_EQ(fin_schedule_front(b), 0);
    }
    CHECK_LOG("b a ");
    check_log[0] = 0;
}

static void not_waiting(void) {
    struct fin_awe forged;
    memset(&forged, 0, sizeof forged);
    fin_finish {
        CHECK_EQ(fin_yield_to(&forged), -EINVAL);
        CHECK_EQ(fin_schedule(&forged), -EINVAL);
        memset(&forged, 0x5a, sizeof forged);
        forged.owner = (struct fin_runtime *)fin_self;
        CHECK_EQ(fin_yield_to(&forged), -EINVAL);
        CHECK_EQ(fin_schedule(&forged), -EINVAL);
        forged.state = FIN_AWE_RUNNING;
        CHECK_EQ(fin_yield_to(&forged), -EALREADY);
    }
}

static void then(void *arg) {
    struct fin_awe **slot = arg;
    CHECK(*slot != NULL);
    CHECK_EQ(fin_schedule(*slot), 0);
    LOG("then ");
}

static void suspend_then(void) {
    fin_shared struct fin_awe *slot = NULL;
    fin_finish {
        fin_async {
            fin_suspend_then(&slot, then, &slot);
            LOG("resumed ");
        };
        LOG("owner ");
    }
    CHECK_LOG("then owner resumed ");
    check_log[0] = 0;
}

int main(void) {
    for (int i = 0; i < 200; i++) {
        to_suspended();
        to_queued();
        many_pending();
        front();
        suspend_then();
    }
    not_waiting();
    return 0;
}

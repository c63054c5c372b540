// SPDX-License-Identifier: BSD-2-Clause
// CANCEL, DO_FINISH_NX, cancel items: newest first, once, also those that come after the cancel.
#include <string.h>

#include <fin/thc.h>

#include "check.h"

static void note(void *text) { LOG("%s ", (const char *)text); }

static void items(void) {
    DO_FINISH_(tag, {
        cancel_item_t a, b, c, late;
        cancel_item_t *inner = &b;
        THCAddCancelItem(&a, note, (void *)"a");
        THCAddCancelItem(&b, note, (void *)"b");
        THCAddCancelItem(&c, note, (void *)"c");
        THCRemoveCancelItem(inner);
        CHECK(!THCIsCancelRequested());
        CHECK(!THCCancelItemRan(&a) && !THCCancelItemRan(inner));
        CANCEL(tag);
        CANCEL(tag);
        CHECK(THCCancelItemRan(&a) && !THCCancelItemRan(inner) && THCCancelItemRan(&c));
        CHECK(THCIsCancelRequested());
        THCAddCancelItem(&late, note, (void *)"late"); // the original never runs this one
        CHECK(THCCancelItemRan(&late));
        DO_FINISH({ CHECK(THCIsCancelRequested()); });
        DO_FINISH_NX({
            CHECK(!THCIsCancelRequested());
            THCAddCancelItem(&b, note, (void *)"shielded");
            CHECK(!THCCancelItemRan(&b));
            THCRemoveCancelItem(&b);
        });
    });
    CHECK(!THCIsCancelRequested());
    CHECK_LOG("c a late ");
}

static thc_sem_t sem;

static void blocks(void) {
    fin_shared errval_t inside = -1, nested = -1, nx = -1, outside = -1;
    thc_sem_init(&sem, 0);
    DO_FINISH({
        ASYNC({ outside = thc_sem_p_x(&sem); });
        DO_FINISH_(tag, {
            ASYNC({ inside = thc_sem_p_x(&sem); });
            ASYNC({ DO_FINISH({ ASYNC({ nested = thc_sem_p_x(&sem); }); }); });
            ASYNC({ DO_FINISH_NX({ ASYNC({ nx = thc_sem_p_x(&sem); }); }); });
            ASYNC({
                THCYield();
                CANCEL(tag);
                THCYield();
                THCYield();
                CHECK_EQ(inside, THC_CANCELED);
                CHECK_EQ(nested, THC_CANCELED);
                CHECK_EQ(nx, -1);
                CHECK_EQ(outside, -1);
                thc_sem_v(&sem);
                thc_sem_v(&sem);
            });
        });
    });
    CHECK_EQ(nx, SYS_ERR_OK);
    CHECK_EQ(outside, SYS_ERR_OK);
}

int main(void) {
    items();
    blocks();
    return 0;
}

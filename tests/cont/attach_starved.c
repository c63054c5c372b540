// SPDX-License-Identifier: BSD-2-Clause
// There is no memory for another stack, and an AWE that has been scheduled waits until one is spare. Given one that the
// program holds, it needs no other, and runs.
#include <fin.h>

#include "memory.h"

static struct fin_event go = FIN_EVENT_INIT;

static void holds(void *p) {
    (void)p;
    fin_event_await(&go, 1);
}

static int kept, ran;

static void keeps(void *p, int result) {
    (void)p;
    CHECK_EQ(result, 0);
    kept++;
    fin_event_await_nc(&go, 1);
    fin_cont_end();
}

static void runs(void *p, int result) {
    (void)p;
    CHECK_EQ(result, 0);
    ran++;
    fin_cont_end();
}

int main(void) {
    skip_where_watched();
    alarm(60);
    fin_finish {
        fin_yield();
        struct fin_stack *held = fin_stack_alloc();
        CHECK(held);
        CHECK(fin_async_cont(keeps, NULL, 0)); // on the stack that is kept for such AWEs
        while (spare_stacks() > 0)
            fin_async_eager_call(holds, NULL);
        limit_memory();
        fin_yield();
        CHECK_EQ(kept, 1);

        struct fin_awe *first = fin_async_cont(runs, NULL, 0), *second = fin_async_cont(runs, NULL, 0);
        CHECK(first && second);
        fin_yield();
        fin_yield();
        CHECK_EQ(ran, 0);
        CHECK_EQ(fin_schedule(first), -EALREADY);
        CHECK_EQ(fin_stack_attach(second, held, NULL), 0);
        fin_yield();
        CHECK_EQ(ran, 1);
        CHECK_EQ(fin_schedule(first), -EALREADY);
        fin_event_advance(&go, 1);
        unlimit_memory();
    }
    CHECK_EQ(ran, 2);
    return 0;
}

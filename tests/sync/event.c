// SPDX-License-Identifier: BSD-2-Clause
// Event counts and sequencers: each waiter goes on when its count is reached and not before.
#include <errno.h>
#include <string.h>

#include <fin.h>

#include "check.h"

static struct fin_event e = FIN_EVENT_INIT;

static void waiter(void *arg) {
    CHECK_EQ(fin_event_await(&e, (uintptr_t)arg), 0);
    CHECK(fin_event_read(&e) >= (uintptr_t)arg);
    LOG("%d ", (int)(intptr_t)arg);
}

static void settle(void) {
    for (int i = 0; i < 10; i++)
        fin_yield();
}

static void counts(void) {
    fin_finish {
        static const uintptr_t wanted[] = {0, 4, 2, 9, 2, 3};
        for (int i = 0; i < 6; i++)
            fin_async_call(waiter, (void *)wanted[i]);
        settle();
        CHECK_LOG("0 ");
        fin_event_advance(&e, 1);
        settle();
        CHECK_LOG("0 ");
        fin_event_advance(&e, 1);
        settle();
        CHECK_LOG("0 2 2 ");
        fin_event_advance(&e, 5);
        settle();
        CHECK_LOG("0 2 2 3 4 ");
        fin_event_advance(&e, 2);
    }
    CHECK_LOG("0 2 2 3 4 9 ");
    CHECK_EQ(fin_event_read(&e), 9);
    CHECK_EQ(fin_event_await(&e, 9), 0);
    fin_event_advance(&e, UINT64_MAX - 2); // it does not start again
    CHECK_EQ(fin_event_read(&e), UINT64_MAX);
    CHECK_EQ(fin_event_await(&e, UINT64_MAX), 0);
}

static void cancelled(void) {
    fin_event_init(&e);
    fin_shared int a = 1, b = 1, nc = 0;
    fin_finish {
        fin_async { a = fin_event_await(&e, 1); };
        fin_async { b = fin_event_await(&e, 2); };
        fin_async {
            fin_event_await_nc(&e, 3);
            nc = 1;
        };
        fin_event_advance(&e, 1);
        fin_cancel();
        CHECK_EQ(fin_event_await(&e, 0), -ECANCELED);
        settle();
        CHECK_EQ(nc, 0);
        fin_event_advance(&e, 2);
    }
    CHECK_EQ(a, 0);
    CHECK_EQ(b, -ECANCELED);
    CHECK_EQ(nc, 1);
}

int main(void) {
    counts();
    cancelled();
    struct fin_seq s = FIN_SEQ_INIT;
    CHECK_EQ(fin_seq_ticket(&s), 0);
    CHECK_EQ(fin_seq_ticket(&s), 1);
    CHECK_EQ(fin_seq_read(&s), 2);
    return 0;
}

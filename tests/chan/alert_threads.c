// SPDX-License-Identifier: BSD-2-Clause
// Alerts are disabled in a thread until it enables them, also where the thread that had its runtime before ended with them
// enabled.
#include <fin/alert.h>

#include "chan.h"

static void ends_enabled(void *runtime) {
    fin_alert_enable();
    *(struct fin_thread **)runtime = fin_self;
}

static void asks(void *before) {
    CHECK(fin_thread_here_() == before);
    CHECK(!fin_alert_disable());
}

int main(void) {
    struct fin_thread_handle t;
    struct fin_thread *runtime;
    fin_finish {} // this thread has one from here on
    CHECK_EQ(fin_thread_start(&t, ends_enabled, &runtime), 0);
    fin_thread_join_nc(&t);
    CHECK_EQ(fin_thread_start(&t, asks, runtime), 0);
    fin_thread_join_nc(&t);
    return 0;
}

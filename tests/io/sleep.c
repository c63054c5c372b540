// SPDX-License-Identifier: BSD-2-Clause
// Sleepers wake in the order of their times, equal times in the order of their start, and never early.
#include <string.h>

#include <fin.h>

#include "check.h"

static uint64_t start;

static void sleep_and_log(void *arg) {
    int n = *(int *)arg;
    uint64_t when = start + (uint64_t)(n / 10) * FIN_MS;
    CHECK_EQ(fin_sleep_until(when), 0);
    CHECK(fin_now() >= when);
    LOG("%d ", n);
}

int main(void) {
    int n[] = {91, 31, 10, 92, 50, 32, 11, 70, 51, 93};
    start = fin_now() + 5 * FIN_MS;
    fin_finish {
        for (int i = 0; i < 10; i++)
            fin_async_call(sleep_and_log, &n[i]);
        LOG("started ");
    }
    CHECK_LOG("started 10 11 31 32 50 51 70 91 92 93 ");
    uint64_t now = fin_now();
    CHECK_EQ(fin_sleep(2 * FIN_MS), 0);
    CHECK(fin_now() - now >= 2 * FIN_MS);
    CHECK_EQ(fin_sleep(0), 0);
    CHECK_EQ(fin_sleep_until(0), 0);
    CHECK_EQ(fin_sleep_nc(1), 0);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Who gives its processor away while it waits, and has it back only after long, was beside somebody who computes: the next
// waits give none, for a while, and sleep. The time is the test's own.
#include "chan.h"

enum { MS = 1000000 };
static long now, turn_takes;
static int turns;

int clock_gettime(clockid_t clock, struct timespec *t) {
    (void)clock;
    now += 1000;
    *t = (struct timespec){now / 1000000000, now % 1000000000};
    return 0;
}

int sched_yield(void) {
    turns++;
    now += turn_takes;
    return 0;
}

static void send_soon(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(1), 0); // until the one that waits sleeps
    CHECK_EQ(fin_chan_try_send(a, "message", 8), 0);
}

static int turns_of_a_wait(void) {
    char buffer[8];
    turns = 0;
    fin_finish {
        fin_async_call(send_soon, NULL);
        CHECK_EQ(fin_chan_recv(b, buffer, sizeof buffer), 8);
    }
    return turns;
}

int main(void) {
    alarm(10);
    open_kind(SOCKET, 0, 0);
    int often = turns_of_a_wait();
    CHECK(often > 1);
    turn_takes = 2 * MS;
    CHECK_EQ(turns_of_a_wait(), 1);
    turn_takes = 0;
    CHECK_EQ(turns_of_a_wait(), 0);
    now += 40 * MS; // the first while is short: it may have been by chance
    CHECK_EQ(turns_of_a_wait(), often);
    turn_takes = 2 * MS;
    CHECK_EQ(turns_of_a_wait(), 1); // it was not: now four times as long
    turn_takes = 0;
    now += 40 * MS;
    CHECK_EQ(turns_of_a_wait(), 0);
    now += 90 * MS;
    CHECK_EQ(turns_of_a_wait(), often);
    now += 200 * MS; // long ago
    turn_takes = 2 * MS;
    CHECK_EQ(turns_of_a_wait(), 1);
    turn_takes = 0;
    now += 40 * MS;
    CHECK_EQ(turns_of_a_wait(), often);
    close_both();
    return 0;
}

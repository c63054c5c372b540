// SPDX-License-Identifier: BSD-2-Clause
// Who has armed, and asks for fences, finds a skip when it looks for the last time, and sleeps: the message that follows the
// skip rings. (models/chan.pml, 13)
#include "bare.h"

static uint64_t rings(void) { return fin_event_read(&meeting.message); }

static void say(void) { ump_publish(&tx, 8, UMP_MESSAGE); }

static void take(void) {
    CHECK_EQ(ump_size(ump_look(&rx)), 8);
    ump_taken(&rx, 8);
}

static bool arm(void) {
    bool barrier = fin_ump_arm(&rx);
    if (barrier)
        fin_ump_barrier();
    return barrier;
}

static void skip_to_next_lap(void) {
    uint64_t then = tx.head, lines = LINES - (then & (LINES - 1));
    ump_write_header(&tx, ump_line(tx.ring, then, tx.lines), ump_header(&tx, lines, UMP_SKIP), then + lines);
}

int main(void) {
    if (!fin_ump_barriers())
        SKIP("no membarrier here: nobody asks for fences");
    receiver_line.barriers = 1;
    CHECK(arm()); // from here on it asks
    say();
    CHECK_EQ(rings(), 1);
    fin_ump_disarm(&rx);
    take();
    for (uint64_t i = 2; i <= 10; i++) {
        CHECK(!arm()); // and goes on to: what was skipped were no messages
        skip_to_next_lap();
        CHECK_EQ(ump_look(&rx), 0);
        CHECK_EQ(rings(), i - 1);
        say();
        CHECK_EQ(rings(), i);
        fin_ump_disarm(&rx);
        take();
    }
    return 0;
}

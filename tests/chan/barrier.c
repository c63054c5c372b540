// SPDX-License-Identifier: BSD-2-Clause
// A sender that publishes and a receiver that arms, at the same moment, in the shortest form: either the receiver sees the
// message or the sender rings. Never neither, although the sender has no barrier, or only one when asked: see ump.h. Skipped
// where senders have one anyway.
#include <sched.h>

#include "bare.h"

static unsigned rounds, started, sent;

static void meet(unsigned *mine, const unsigned *other, unsigned round) {
    __atomic_store_n(mine, round, __ATOMIC_SEQ_CST);
    for (unsigned i = 1; __atomic_load_n(other, __ATOMIC_SEQ_CST) < round; i++)
        if (i % 4096 == 0)
            sched_yield();
}

static void wait_a_little(unsigned *seed) {
    for (unsigned n = next_random(seed) % 64; n; n--)
        __asm__ volatile("");
}

static void sender(void *unused) {
    unsigned seed = 1;
    (void)unused;
    for (unsigned i = 1; i <= rounds; i++) {
        meet(&sent, &started, 2 * i - 1);
        wait_a_little(&seed);
        if (!ump_room(&tx, 1))
            CHECK(fin_ump_refresh(&tx, 1));
        ump_publish(&tx, 0, UMP_MESSAGE);
        meet(&sent, &started, 2 * i);
    }
}

int main(void) {
    struct fin_thread_handle t;
    unsigned seed = 2, seen = 0, rung = 0;
    if (!fin_ump_barriers())
        SKIP("no membarrier here: every sender has a fence");
    rounds = few(100000);
    receiver_line.barriers = 1;
    CHECK_EQ(fin_thread_start(&t, sender, NULL), 0);
    for (unsigned i = 1; i <= rounds; i++) {
        uint64_t heard = fin_event_read(&meeting.message);
        meet(&started, &sent, 2 * i - 1);
        wait_a_little(&seed);
        rx.armed_at = i & 16 ? rx.tail : rx.tail - LINES; // it had few messages since, or many
        if (fin_ump_arm(&rx))
            fin_ump_barrier();
        bool there = ump_look(&rx) != 0;
        meet(&started, &sent, 2 * i);
        bool bell = fin_event_read(&meeting.message) != heard;
        CHECK(there || bell);
        seen += there;
        rung += bell;
        fin_ump_disarm(&rx);
        CHECK(ump_look(&rx) != 0);
        ump_taken(&rx, 0);
    }
    CHECK_EQ(fin_thread_join(&t), 0);
    CHECK(!tx.fence);
    printf("%u rounds: %u times the message was seen, %u times the bell rung\n", rounds, seen, rung);
    return 0;
}

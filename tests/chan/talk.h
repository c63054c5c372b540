// SPDX-License-Identifier: BSD-2-Clause
// Two sides that send and receive at random moments, both ways, so that each falls asleep and is woken thousands of times in
// the middle of whatever the other does. If no wake-up is lost they come to their end.
#include "chan.h"

static unsigned rounds;

static void pause_at_random(unsigned *seed) {
    unsigned r = next_random(seed);
    if (r % 64 == 0)
        CHECK_EQ(fin_sleep(r % 7 * 10000), 0);
    else if (r % 4 == 0)
        for (unsigned n = r / 64 % 3000; n; n--)
            __asm__ volatile("");
}

// Takes turns with the other side in runs of random length, known to both.
static void talk(struct fin_chan *c, bool first, unsigned seed) {
    unsigned runs = 11, sent = 0, received = 0;
    unsigned char p[300];
    for (unsigned i = 0; i < rounds; i++) {
        bool mine = first == (i % 2 == 0);
        for (unsigned n = next_random(&runs) % 200 < 190 ? 1 : 100; n; n--) {
            size_t size = (mine ? sent : received) % 9 ? 16 : sizeof p;
            pause_at_random(&seed);
            if (mine) {
                fill(p, size, sent++);
                CHECK_EQ(fin_chan_send(c, p, size), 0);
            } else {
                CHECK_EQ(fin_chan_recv(c, p, sizeof p), size);
                CHECK(filled(p, size, received++));
            }
        }
    }
}

// SPDX-License-Identifier: BSD-2-Clause
// Two threads, or two processes, that send and receive at random moments, both ways, so that each falls asleep and is woken
// thousands of times in the middle of whatever the other does. No wake-up is lost: the scenario ends.
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

static void other_thread(void *end) { talk(end, false, 5); }

static void other_process(void *unused) {
    (void)unused;
    struct fin_chan *c;
    CHECK_EQ(fin_chan_take(&c, sockets[1], 0), 0);
    talk(c, false, 5);
    CHECK_EQ(fin_chan_close(c), 0);
}

int main(void) {
    rounds = few(20000);
    pid_t pid = child(other_process, NULL);
    CHECK_EQ(fin_chan_offer(&a, sockets[0], &(struct fin_chan_options){4096, 0}), 0);
    talk(a, true, 9);
    char byte;
    CHECK_EQ(fin_chan_recv(a, &byte, 1), -ESHUTDOWN);
    CHECK_EQ(fin_chan_close(a), 0);
    ended_well(pid);
    for (enum kind kind = PAIR; kind < KINDS; kind++) {
        struct fin_thread_handle t;
        open_kind(kind, 4096, 0);
        CHECK_EQ(fin_thread_start(&t, other_thread, b), 0);
        talk(a, true, 9);
        CHECK_EQ(fin_thread_join(&t), 0);
        close_both();
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A message is seen as a whole, and stays what it is until it is released: read in place, forwards and backwards, from a
// ring that is nearly always full, so that its lines are written again as soon as they are free. MESSAGES as the argument.
#include "chan.h"

enum { MOST = 180 };

static unsigned messages;

static uint64_t word_of(unsigned message, size_t i) { return (uint64_t)message * 0x9e3779b97f4a7c15u + i; }

static void sender(void *unused) {
    unsigned seed = 3;
    (void)unused;
    for (unsigned i = 0; i < messages; i++) {
        size_t words = 1 + next_random(&seed) % MOST;
        void *room;
        CHECK_EQ(fin_chan_reserve(a, words * 8, &room), 0);
        for (size_t k = words; k-- > 0;)
            memcpy((char *)room + 8 * k, &(uint64_t){word_of(i, k)}, 8);
        CHECK_EQ(fin_chan_commit(a, words * 8), 0);
    }
}

static void look(const void *bytes, unsigned message, size_t k) {
    uint64_t word;
    memcpy(&word, (const char *)bytes + 8 * k, 8);
    CHECK_EQ(word, word_of(message, k));
}

static void receive(void) {
    unsigned seed = 3;
    for (unsigned i = 0; i < messages; i++) {
        size_t words = 1 + next_random(&seed) % MOST;
        const void *bytes;
        CHECK_EQ(fin_chan_peek(b, &bytes), words * 8);
        for (size_t k = 0; k < words; k++)
            look(bytes, i, k);
        for (size_t k = words; k-- > 0;)
            look(bytes, i, k);
        CHECK_EQ(fin_chan_release(b), 0);
    }
}

int main(int argc, char **argv) {
    messages = argc > 1 ? (unsigned)atoi(argv[1]) : few(10000);
    for (enum kind kind = PAIR; kind < KINDS; kind++) {
        struct fin_thread_handle h;
        open_kind(kind, 4096, 0);
        CHECK_EQ(fin_thread_start(&h, sender, NULL), 0);
        receive();
        CHECK_EQ(fin_thread_join(&h), 0);
        close_both();
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Messages of all lengths arrive whole and in order, both ways at once, through rings that are full and empty by turns.
#include "chan.h"

enum { MOST = 1900 };
static unsigned messages;

static size_t size_of(unsigned number) {
    unsigned state = number * 2654435761u;
    unsigned r = next_random(&state);
    return r % 4 ? r / 4 % 57 : r / 4 % MOST;
}

static void sender(void *end) {
    unsigned char p[MOST];
    for (unsigned i = 0; i < messages; i++) {
        fill(p, size_of(i), i);
        CHECK_EQ(fin_chan_send(end, p, size_of(i)), 0);
    }
}

static void receiver(void *end) {
    unsigned char p[MOST];
    for (unsigned i = 0; i < messages; i++) {
        CHECK_EQ(fin_chan_recv(end, p, sizeof p), size_of(i));
        CHECK(filled(p, size_of(i), i));
    }
}

int main(void) {
    messages = few(20000);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        open_kind(kind, 4096, 0);
        fin_finish {
            fin_async_call(sender, a);
            fin_async_call(receiver, b);
            fin_async_call(receiver, a);
            fin_async_call(sender, b);
        }
        close_both();
    }
    return 0;
}

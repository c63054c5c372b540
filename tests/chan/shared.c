// SPDX-License-Identifier: BSD-2-Clause
// Many threads send at one end and several receive at the other: each message arrives once, those of one sender in order.
#include "chan.h"

enum { SENDERS = 4, RECEIVERS = 2 };
static unsigned each;
static unsigned seen[SENDERS], total;

static void sender(void *number) {
    unsigned me = (unsigned)(uintptr_t)number;
    for (unsigned i = 0; i < each; i++) {
        unsigned p[300] = {me, i};
        CHECK_EQ(fin_chan_send(a, p, i % 5 ? 8 : i % 2 ? 400 : sizeof p), 0);
    }
}

static void receiver(void *one) {
    unsigned p[300], last[SENDERS] = {0};
    while (fin_chan_recv(b, p, sizeof p) >= 8) {
        if (p[1] == UINT32_MAX) // the end, one for each
            return;
        CHECK(p[0] < SENDERS);
        if (one) // alone, nothing is missing
            CHECK_EQ(p[1], seen[p[0]]);
        CHECK(p[1] >= last[p[0]]);
        last[p[0]] = p[1];
        __atomic_add_fetch(&seen[p[0]], 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&total, 1, __ATOMIC_RELAXED);
    }
}

static void run(enum kind kind, int receivers) {
    struct fin_thread_handle s[SENDERS], r[RECEIVERS];
    unsigned end[2] = {0, UINT32_MAX};
    memset(seen, 0, sizeof seen);
    total = 0;
    open_kind(kind, 4096, FIN_CHAN_SHARED);
    for (int i = 0; i < receivers; i++)
        CHECK_EQ(fin_thread_start(&r[i], receiver, receivers == 1 ? &total : NULL), 0);
    for (int i = 0; i < SENDERS; i++)
        CHECK_EQ(fin_thread_start(&s[i], sender, (void *)(uintptr_t)i), 0);
    for (int i = 0; i < SENDERS; i++)
        CHECK_EQ(fin_thread_join(&s[i]), 0);
    for (int i = 0; i < receivers; i++)
        CHECK_EQ(fin_chan_send(a, end, sizeof end), 0);
    for (int i = 0; i < receivers; i++)
        CHECK_EQ(fin_thread_join(&r[i]), 0);
    CHECK_EQ(total, SENDERS * each);
    close_both();
}

int main(void) {
    each = few(20000);
    for (enum kind kind = PAIR; kind < KINDS; kind++)
        for (int receivers = 1; receivers <= RECEIVERS; receivers++)
            run(kind, receivers);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Many AWEs of one thread send at one end and receive at the other: each message arrives once, those of one sender in order.
#include "chan.h"

enum { AWES = 20 };
static unsigned each, sent[AWES], seen[AWES], received;

static void sender(void *number) {
    unsigned me = (unsigned)(uintptr_t)number;
    for (unsigned i = 0; i < each; i++) {
        unsigned p[100] = {me, i};
        CHECK_EQ(fin_chan_send(a, p, i % 5 ? 8 : sizeof p), 0);
        sent[me]++;
    }
}

static void receiver(void *unused) {
    (void)unused;
    while (received < AWES * each) {
        unsigned p[100];
        ssize_t n = fin_chan_recv(b, p, sizeof p);
        if (n == -ECANCELED)
            return;
        CHECK(n >= 8 && p[0] < AWES);
        CHECK_EQ(p[1], seen[p[0]]);
        seen[p[0]]++;
        received++;
    }
}

int main(void) {
    each = few(2000);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        for (unsigned shared = 0; shared <= (kind == PAIR ? FIN_CHAN_SHARED : 0u); shared++) {
            received = 0;
            memset(sent, 0, sizeof sent);
            memset(seen, 0, sizeof seen);
            open_kind(kind, 4096, shared);
            fin_finish_as(all) {
                for (uintptr_t i = 0; i < AWES; i++)
                    fin_async_call(sender, (void *)i);
                for (int i = 0; i < AWES; i++)
                    fin_async_call(receiver, NULL);
                while (received < AWES * each)
                    fin_yield();
                fin_cancel_as(all);
            }
            for (int i = 0; i < AWES; i++)
                CHECK_EQ(seen[i], each);
            close_both();
        }
    }
    return 0;
}

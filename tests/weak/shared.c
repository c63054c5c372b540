// SPDX-License-Identifier: BSD-2-Clause
// Two threads send at one shared end, with two AWEs each, and a third receives: all of it comes, what one AWE has sent in
// its order.
#include <fin.h>
#include <fin/chan.h>

#include "weak.h"

enum { EACH = 6, SENDERS = 4 };

static struct fin_chan *ends[2];

struct message {
    uint64_t sender, number, words[12];
};

static FIN_BLOCKING void sends(unsigned sender) {
    for (unsigned i = 0; i < EACH; i++) {
        struct message m = {sender, i, {i * i}};
        WEAK_CHECK(fin_chan_send(ends[0], &m, sizeof m) == 0);
    }
}

static FIN_BLOCKING void receives(void) {
    uint64_t next[SENDERS] = {0};
    for (unsigned i = 0; i < EACH * SENDERS; i++) {
        struct message m;
        WEAK_CHECK(fin_chan_recv(ends[1], &m, sizeof m) == sizeof m);
        WEAK_CHECK(m.sender < SENDERS && m.number == next[m.sender]++ && m.words[0] == m.number * m.number);
    }
}

static FIN_BLOCKING void thread(int i) {
    if (i == 2)
        receives();
    else
        fin_finish {
            fin_async { sends((unsigned)i * 2); };
            sends((unsigned)i * 2 + 1);
        }
}

static void once(int i) {
    if (i == 0)
        WEAK_CHECK(fin_chan_pair(&ends[0], &ends[1], &(struct fin_chan_options){.size = 4096, .flags = FIN_CHAN_SHARED}) ==
                   0);
}

const struct weak_scenario weak_scenario = {3, once, NULL, thread, NULL};

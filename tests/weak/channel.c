// SPDX-License-Identifier: BSD-2-Clause
// A channel between two threads. One way more goes than there is room for, in messages of one line and of several; both
// sides wait, for messages and for room.
#include <string.h>

#include <fin.h>
#include <fin/chan.h>

#include "weak.h"

enum { MESSAGES = 40, MOST = 300 };

static struct fin_chan *ends[2];
static unsigned round;

static size_t size_of(unsigned n) { return n % 5 == 0 ? MOST : n % 7 * 8; }

static FIN_BLOCKING void sends(void) {
    char m[MOST];
    uint64_t answer;
    for (unsigned i = 0; i < MESSAGES; i++) {
        for (size_t k = 0; k < size_of(i); k++)
            m[k] = (char)(round + i + k);
        WEAK_CHECK(fin_chan_send(ends[0], m, size_of(i)) == 0);
    }
    WEAK_CHECK(fin_chan_recv(ends[0], &answer, sizeof answer) == sizeof answer && answer == round);
}

static FIN_BLOCKING void receives(void) {
    char m[MOST];
    uint64_t answer = round;
    for (unsigned i = 0; i < MESSAGES; i++) {
        WEAK_CHECK(fin_chan_recv(ends[1], m, sizeof m) == (ssize_t)size_of(i));
        for (size_t k = 0; k < size_of(i); k++)
            WEAK_CHECK(m[k] == (char)(round + i + k));
    }
    WEAK_CHECK(fin_chan_send(ends[1], &answer, sizeof answer) == 0);
}

static FIN_BLOCKING void thread(int i) {
    if (i == 0)
        sends();
    else
        receives();
}

static void once(int i) {
    if (i == 0)
        WEAK_CHECK(fin_chan_pair(&ends[0], &ends[1], &(struct fin_chan_options){.size = 4096}) == 0);
}

static void begin(void) { round++; }

const struct weak_scenario weak_scenario = {2, once, begin, thread, NULL};

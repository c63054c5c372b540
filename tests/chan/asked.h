// SPDX-License-Identifier: BSD-2-Clause
// b answers through a waitset, as often as a asks.
#ifndef FIN_TESTS_ASKED_H
#define FIN_TESTS_ASKED_H

#include "chan.h"

enum { ROUNDS = 100 };

static unsigned asked;

static void answers(void *unused) {
    char p[8];
    (void)unused;
    CHECK_EQ(fin_chan_recv(b, p, sizeof p), 8);
    CHECK_EQ(fin_chan_send(b, p, 8), 0);
    asked++;
}

static void serves(void *waitset) {
    while (asked < ROUNDS)
        CHECK_EQ(fin_waitset_dispatch(waitset), 0);
}

static void in_rounds(void (*asks)(void)) {
    struct fin_waitset *w;
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, answers, NULL), 0);
    asked = 0;
    fin_finish {
        fin_async_call(serves, w);
        for (int i = 0; i < ROUNDS; i++)
            asks();
    }
    fin_waitset_close(w);
}

#endif

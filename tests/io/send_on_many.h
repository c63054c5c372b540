// SPDX-License-Identifier: BSD-2-Clause
// AWEs without a stack that each send a byte to one socket.
#ifndef FIN_TESTS_IO_SEND_ON_MANY_H
#define FIN_TESTS_IO_SEND_ON_MANY_H

#include "net.h"

enum { MOST = 5000 };

static struct fin_on on[MOST];
static int to, sent;

static void has_sent(void *state, int n) {
    (void)state;
    CHECK_EQ(n, 1);
    sent++;
    fin_cont_end();
}

static void send_one(void *state, int unused) {
    struct fin_on *its = *(struct fin_on **)state;
    (void)unused;
    has_sent(NULL, fin_send_on(its, to, "x", 1, 0, has_sent, NULL, 0));
}

#endif

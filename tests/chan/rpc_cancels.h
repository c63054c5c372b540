// SPDX-License-Identifier: BSD-2-Clause
// What rpc_cancel.c and rpc_on_cancel.c share: a service that takes its time.
#ifndef FIN_TESTS_CHAN_RPC_CANCELS_H
#define FIN_TESTS_CHAN_RPC_CANCELS_H

#include "rpc.h"

static unsigned seed = 9, answers, cancels, requests;

static void pause_a_little(void) { pause_a_while(&seed, 30, 16); }

static void handle(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *unused) {
    uint64_t x;
    (void)unused;
    CHECK_EQ(size, sizeof x);
    memcpy(&x, request, sizeof x);
    if (x % 3)
        pause_a_little();
    uint64_t y = answer_to(x);
    CHECK_EQ(fin_rpc_reply_nc(r, id, &y, sizeof y), 0);
    requests++;
}

// Who serves is not to be closed meanwhile.
static void every_request_is_answered(void) {
    CHECK_EQ(fin_rpc_close(server), -EBUSY);
    while (ask(3) == 8 && fin_rpc_strays(caller) + answers + 1 < requests)
        answers++;
}

#endif

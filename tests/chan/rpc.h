// SPDX-License-Identifier: BSD-2-Clause
// A caller and a server at the two ends of a channel.
#ifndef FIN_TESTS_CHAN_RPC_H
#define FIN_TESTS_CHAN_RPC_H

#include "chan.h"

static struct fin_rpc *caller, *server;

// The caller is a client only.
__attribute__((unused)) static void open_rpc(enum kind kind) {
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_rpc_open(&caller, a, FIN_RPC_CLIENT), 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
}

__attribute__((unused)) static void close_rpc(void) {
    CHECK_EQ(fin_rpc_close(caller), 0);
    CHECK_EQ(fin_rpc_close(server), 0);
}

// What a request `x` is answered with.
static inline uint64_t answer_to(uint64_t x) { return x * x + 7; }

__attribute__((unused)) static ssize_t ask(uint64_t x) {
    uint64_t y = 0;
    ssize_t n = fin_rpc_call(caller, &x, sizeof x, &y, sizeof y);
    CHECK(n < 0 || (n == sizeof y && y == answer_to(x)));
    return n;
}

__attribute__((unused)) static void reply_to(uint32_t id, uint64_t x) {
    uint64_t y = answer_to(x);
    CHECK_EQ(fin_rpc_reply(server, id, &y, sizeof y), 0);
}

__attribute__((unused)) static uint32_t next_request(uint64_t *x) {
    uint32_t id;
    CHECK_EQ(fin_rpc_accept(server, x, sizeof *x, &id), sizeof *x);
    return id;
}

// So far, of this thread, for messages.
__attribute__((unused)) static struct fin_blocks waits(void) {
    struct fin_stats s;
    fin_stats(&s);
    return s.blocks[FIN_FOR_MESSAGE];
}

#endif

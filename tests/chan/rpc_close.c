// SPDX-License-Identifier: BSD-2-Clause
// fin_rpc_close while another AWE is in one of the calls: it does nothing but say so.
#include "rpc.h"

// The end closes as soon as that is possible.
static void accepts_and_closes(void *unused) {
    (void)unused;
    uint64_t x;
    uint32_t id;
    CHECK_EQ(fin_rpc_accept(server, &x, sizeof x, &id), sizeof x);
    int r = fin_rpc_close(server);
    LOG("close %d ", r);
    if (r == 0)
        server = NULL;
}

static void while_polled(void) {
    uint64_t x = 5;
    uint32_t id;
    open_rpc(PAIR);
    fin_finish {
        fin_async_call(accepts_and_closes, NULL);
        CHECK_EQ(fin_rpc_send(caller, &x, sizeof x, &id), 0);
        ssize_t n = fin_rpc_poll(server, &x, sizeof x, &id);
        LOG("poll %zd", n);
    }
    char expected[64];
    snprintf(expected, sizeof expected, "close %d poll %d", -EBUSY, -EAGAIN);
    CHECK_LOG(expected);
    close_rpc();
}

static char large[1500];

static void replies(void *unused) {
    (void)unused;
    int r;
    do
        r = fin_rpc_reply(server, 1, large, sizeof large);
    while (r == 0);
    CHECK_EQ(r, -ECANCELED);
}

// A request that was too long for the buffer stays, also after that.
static void while_replying(void) {
    uint64_t x = 5;
    uint32_t id;
    open_rpc(PAIR);
    CHECK_EQ(fin_rpc_send(caller, &x, sizeof x, &id), 0);
    CHECK_EQ(fin_rpc_poll(server, &x, 1, &id), -EMSGSIZE);
    fin_finish {
        fin_async_call(replies, NULL);
        CHECK_EQ(fin_rpc_close(server), -EBUSY);
        CHECK_EQ(fin_rpc_poll(server, &x, sizeof x, &id), sizeof x);
        fin_cancel();
    }
    close_rpc();
}

int main(void) {
    while_polled();
    while_replying();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// fin_rpc_close while another AWE is in one of the calls: it does nothing but say so. Nor can the channel be closed under an
// end that it is of, by a handler in the midst of its work, say.
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

static struct fin_rpc_on serving;
static unsigned handled;

static void closes_channel(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *arg) {
    (void)r, (void)id, (void)request, (void)size, (void)arg;
    CHECK_EQ(fin_chan_close(b), -EBUSY);
    CHECK_EQ(fin_rpc_close(server), -EBUSY);
    handled++;
}

static void served(void *state, int result) {
    (void)state;
    CHECK_EQ(result, -ECANCELED);
    fin_cont_end();
}

static void begins_to_serve(void *state, int result) {
    (void)state, (void)result;
    fin_rpc_serve_on(server, closes_channel, NULL, &serving, served, NULL, 0);
}

static void serves(void *unused) {
    (void)unused;
    CHECK_EQ(fin_rpc_serve(server, closes_channel, NULL), -ECANCELED);
}

static void sends(void *unused) {
    (void)unused;
    CHECK_EQ(fin_rpc_send(caller, &(uint64_t){5}, sizeof(uint64_t), &(uint32_t){0}), 0);
}

static void while_handled(enum kind kind, bool with_stack) {
    struct fin_thread_handle t;
    open_rpc(kind);
    CHECK_EQ(fin_chan_close(b), -EBUSY);
    fin_finish {
        if (with_stack)
            fin_async_call(serves, NULL);
        else
            fin_async_cont(begins_to_serve, NULL, 0);
        for (handled = 0; handled < 3;) {
            unsigned before = handled;
            CHECK_EQ(fin_sleep_nc(FIN_MS), 0);
            if (kind == PAIR) {
                CHECK_EQ(fin_thread_start(&t, sends, NULL), 0);
                fin_thread_join_nc(&t);
            } else {
                sends(NULL);
            }
            while (handled == before)
                fin_yield();
        }
        fin_cancel();
    }
    close_rpc();
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        while_handled(kind, false);
        while_handled(kind, true);
    }
    while_polled();
    while_replying();
    return 0;
}

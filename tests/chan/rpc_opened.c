// SPDX-License-Identifier: BSD-2-Clause
// An end of a channel that somebody uses does not become an end for calls, and one for calls goes into no waitset.
#include "rpc.h"

static void receives(void *unused) {
    (void)unused;
    uint64_t x;
    CHECK_EQ(fin_chan_recv(b, &x, sizeof x), -ECANCELED);
}

static void serves(void *unused) {
    (void)unused;
    uint64_t x;
    uint32_t id = next_request(&x);
    reply_to(id, x);
}

static void ignore(void *unused) { (void)unused; }

int main(void) {
    struct fin_waitset *w;
    const void *message;
    alarm(60);
    open_kind(PAIR, 4096, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, ignore, NULL), 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), -EBUSY);
    CHECK_EQ(fin_waitset_remove(w, b), 0);
    fin_finish {
        fin_async_call(receives, NULL);
        CHECK_EQ(fin_rpc_open(&server, b, 0), -EBUSY);
        fin_cancel();
    }
    CHECK_EQ(fin_chan_send(a, "x", 1), 0);
    CHECK_EQ(fin_chan_peek(b, &message), 1);
    CHECK_EQ(fin_rpc_open(&server, b, 0), -EBUSY);
    fin_chan_release(b);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
    CHECK_EQ(fin_rpc_open(&caller, b, FIN_RPC_CLIENT), -EBUSY);
    CHECK_EQ(fin_waitset_add(w, b, ignore, NULL), -EBUSY);
    CHECK_EQ(fin_rpc_open(&caller, a, FIN_RPC_CLIENT), 0);
    fin_finish {
        fin_async_call(serves, NULL);
        CHECK_EQ(ask(5), sizeof(uint64_t));
    }
    close_rpc();
    fin_waitset_close(w);
    return 0;
}

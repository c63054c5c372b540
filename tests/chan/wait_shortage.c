// SPDX-License-Identifier: BSD-2-Clause
// A thread that has no descriptor left for what it would wait with, at ends between processes: each wait says so, and the
// ends, calls and sets are as before.
#include "rpc.h"

#include <sys/resource.h>
#include <sys/socket.h>

static int socket_of_b;
static char text[64];
static uint64_t x;
static uint32_t id;
static int result;
static struct fin_waitset *set;
static struct fin_chan_on on;
static struct fin_rpc_on rpc_on;

// In another thread: it waits.
static void take(void *unused) {
    (void)unused;
    CHECK_EQ(fin_chan_take(&b, socket_of_b, 0), 0);
}

static void open_ends(void) {
    struct fin_thread_handle h;
    struct fin_chan_options o = {4096, 0};
    int fds[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
    socket_of_b = fds[1];
    CHECK_EQ(fin_chan_offer(&a, fds[0], &o), 0);
    CHECK_EQ(fin_thread_start(&h, take, NULL), 0);
    fin_thread_join_nc(&h);
}

static void set_limit(bool none) {
    static struct rlimit before;
    if (none)
        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit r = {none ? 0 : before.rlim_cur, before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
}

static void receives(void *unused) {
    (void)unused;
    CHECK_EQ(fin_chan_recv(a, text, sizeof text), 1);
}

static void serves(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *unused) {
    (void)unused;
    CHECK_EQ(fin_rpc_reply(r, id, request, size), 0);
}

static void has(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

enum what { RECV, SEND, SEND_RECV, DISPATCH, CALL, ACCEPT, SERVE };

static void wait_on(void *state, int n) {
    (void)n;
    switch (*(enum what *)state) {
    case RECV: fin_chan_recv_on(a, text, sizeof text, &on, has, NULL, 0); break;
    case SEND: fin_chan_send_on(a, text, sizeof text, &on, has, NULL, 0); break;
    case SEND_RECV: fin_chan_send_recv_on(a, text, 0, text, sizeof text, &on, has, NULL, 0); break;
    case DISPATCH: fin_waitset_dispatch_on(set, &on, has, NULL, 0); break;
    case CALL: fin_rpc_call_on(caller, &x, sizeof x, &x, sizeof x, &rpc_on, has, NULL, 0); break;
    case ACCEPT: fin_rpc_accept_on(caller, &x, sizeof x, &id, &rpc_on, has, NULL, 0); break;
    case SERVE: fin_rpc_serve_on(caller, serves, NULL, &rpc_on, has, NULL, 0); break;
    }
    CHECK(false);
}

// With a continuation.
static int ends(enum what what) {
    fin_finish {
        fin_async_cont(wait_on, &what, sizeof what);
    }
    return result;
}

static void channels(void) {
    const void *bytes;
    void *room;
    unsigned none = 0;
    int sent = 0;
    open_ends();
    set_limit(true);
    CHECK_EQ(fin_chan_recv(a, text, sizeof text), -EMFILE);
    CHECK_EQ(fin_chan_recv_nc(a, text, sizeof text), -EMFILE);
    CHECK_EQ(fin_chan_recv_fds(a, text, sizeof text, NULL, &none), -EMFILE);
    CHECK_EQ(fin_chan_peek(a, &bytes), -EMFILE);
    CHECK_EQ(ends(RECV), -EMFILE);
    CHECK_EQ(fin_chan_send_recv(a, NULL, 0, text, sizeof text), -EMFILE);
    CHECK_EQ(ends(SEND_RECV), -EMFILE);
    for (; fin_chan_try_send(a, text, sizeof text) == 0; sent++) {
    }
    CHECK_EQ(fin_chan_send(a, text, sizeof text), -EMFILE);
    CHECK_EQ(fin_chan_reserve(a, sizeof text, &room), -EMFILE);
    CHECK_EQ(ends(SEND), -EMFILE);
    set_limit(false);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fin_chan_recv(b, text, sizeof text), 0); // of those that sent and then received
    for (; sent; sent--)
        CHECK_EQ(fin_chan_recv(b, text, sizeof text), sizeof text);
    CHECK_EQ(fin_chan_try_recv(b, text, sizeof text), -EAGAIN);
    CHECK_EQ(fin_chan_send(b, "x", 1), 0);
    CHECK_EQ(fin_chan_recv(a, text, sizeof text), 1);
    close_both();
}

static void waitsets(void) {
    void *arg;
    open_ends();
    CHECK_EQ(fin_waitset_new(&set), 0);
    CHECK_EQ(fin_waitset_add(set, a, receives, NULL), 0);
    set_limit(true);
    CHECK_EQ(fin_waitset_dispatch(set), -EMFILE);
    CHECK_EQ(fin_waitset_next(set, &arg), -EMFILE);
    CHECK_EQ(ends(DISPATCH), -EMFILE);
    set_limit(false);
    CHECK_EQ(fin_chan_send(b, "x", 1), 0);
    CHECK_EQ(ends(DISPATCH), 0);
    CHECK_EQ(fin_chan_send(b, "x", 1), 0);
    CHECK_EQ(fin_waitset_dispatch(set), 0);
    close_both();
    fin_waitset_close(set);
}

static void calls(void) {
    open_ends();
    CHECK_EQ(fin_rpc_open(&caller, a, 0), 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
    set_limit(true);
    CHECK_EQ(ask(1), -EMFILE);
    CHECK_EQ(ends(CALL), -EMFILE);
    CHECK_EQ(fin_rpc_accept(caller, &x, sizeof x, &id), -EMFILE);
    CHECK_EQ(ends(ACCEPT), -EMFILE);
    CHECK_EQ(fin_rpc_serve(caller, serves, NULL), -EMFILE);
    CHECK_EQ(ends(SERVE), -EMFILE);
    CHECK_EQ(fin_rpc_send(caller, &x, sizeof x, &id), 0);
    CHECK_EQ(fin_rpc_recv(caller, id, &x, sizeof x), -EMFILE);
    set_limit(false);
    for (int i = 0; i < 3; i++) // of the first two nobody wants the answer any more
        reply_to(next_request(&x), 3);
    CHECK_EQ(fin_rpc_recv(caller, id, &x, sizeof x), sizeof x);
    CHECK_EQ(x, answer_to(3));
    CHECK_EQ(fin_rpc_strays(caller), 2);
    close_rpc();
}

static void run(void *scenario) { (*(void (**)(void))scenario)(); }

// Each in a thread of its own, which has waited for nothing.
int main(void) {
    static void (*scenarios[])(void) = {channels, waitsets, calls};
    for (int i = 0; i < 3; i++) {
        struct fin_thread_handle h;
        CHECK_EQ(fin_thread_start(&h, run, &scenarios[i]), 0);
        fin_thread_join_nc(&h);
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// An AWE that ends in a function that the library has called, by THCFinish, ends alone: the channel is an event again, the
// set can be closed, the loop that serves goes on. One that waits for an event with its stack, or serves, cannot give that
// up in such a function, and an explicit AWE cannot end there.
#include <signal.h>

#include <fin/rpc_on.h>
#include <fin/thc.h>

#include "chan.h"

enum { CALLS = 2 * FIN_RPC_MOST };

static struct fin_waitset *w, *other;
static struct fin_chan_on on;
static int told, refused, moves;

static void receive(void) {
    char p;
    CHECK_EQ(fin_chan_try_recv(b, &p, 1), 1);
    told++;
}

static void ends(void *blocks) {
    receive();
    if (moves)
        CHECK_EQ(fin_waitset_move(other, b), 0);
    fin_finish {
        if (blocks)
            fin_yield();
        THCFinish();
    }
}

static void receives(void *unused) {
    (void)unused;
    receive();
}

static void never(void *state, int r) {
    (void)state, (void)r;
    CHECK(false);
}

static void dispatches(void *unused) {
    (void)unused;
    fin_waitset_dispatch(w);
    CHECK(false);
}

static void dispatches_on(void *state, int r) {
    (void)r;
    fin_waitset_dispatch_on(w, &on, never, state, 0);
    CHECK(false);
}

static void monitors(void *unused) {
    CHECK_EQ(fin_waitset_monitor(w), 0);
    dispatches(unused);
}

// The event is handled once more, by who has not begun before.
static void ended(enum kind kind, void (*dispatch)(void *), void *blocks) {
    struct fin_waitset **in = moves ? &other : &w;
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_new(&other), 0);
    CHECK_EQ(fin_waitset_add(w, b, ends, blocks), 0);
    told = 0;
    fin_finish {
        if (dispatch)
            fin_async_call(dispatch, NULL);
        else
            CHECK(fin_async_cont(dispatches_on, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(FIN_US), 0);
        CHECK_EQ(fin_chan_send(a, "x", 1), 0);
    }
    CHECK_EQ(told, 1);
    CHECK_EQ(fin_chan_send(a, "x", 1), 0);
    CHECK_EQ(fin_waitset_check(*in), 0);
    CHECK_EQ(fin_waitset_remove(*in, b), 0);
    CHECK_EQ(fin_waitset_add(w, b, receives, NULL), 0);
    CHECK_EQ(fin_waitset_dispatch(w), 0);
    CHECK_EQ(told, 2);
    fin_waitset_close(w);
    fin_waitset_close(other);
    close_both();
}

static void answers(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *unused) {
    (void)unused;
    CHECK_EQ(fin_rpc_reply(r, id, request, size), 0);
    if (id % 2)
        fin_yield();
    THCFinish();
}

static struct fin_rpc *client, *server;
static struct fin_rpc_on serving;
static int served;

static void is_served(void *state, int r) {
    (void)state;
    served = r;
    fin_cont_end();
}

static void serves_on(void *state, int r) {
    (void)r;
    fin_rpc_serve_on(server, answers, NULL, &serving, is_served, state, 0);
    CHECK(false);
}

static void serves(void *unused) {
    (void)unused;
    served = fin_rpc_serve(server, answers, NULL);
}

// More requests than are worked on at a time.
static void answered(bool with_continuation) {
    char request[1024] = {0};
    open_kind(LOCAL, 0, 0);
    CHECK_EQ(fin_rpc_open(&client, a, FIN_RPC_CLIENT), 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
    fin_finish_as(all) {
        if (with_continuation)
            CHECK(fin_async_cont(serves_on, NULL, 0) != NULL);
        else
            fin_async_call(serves, NULL);
        for (int i = 0; i < CALLS; i++)
            CHECK_EQ(fin_rpc_call(client, request, sizeof request, request, sizeof request), (ssize_t)sizeof request);
        fin_cancel_as(all);
    }
    CHECK_EQ(served, -ECANCELED);
    CHECK_EQ(fin_rpc_close(client), 0);
    CHECK_EQ(fin_rpc_close(server), 0);
}

// One without a stack that would be left.
static void gives_up(void *unused) {
    receive();
    refused = fin_yield_on(never, unused, 0);
}

static void ends_explicitly(void *unused) {
    (void)unused;
    fin_cont_end();
}

static void dispatched_in_step(void *state, int r) {
    (void)state, (void)r;
    CHECK_EQ(fin_waitset_dispatch(w), 0);
    fin_cont_end();
}

static void dispatched_in_body(void *unused) {
    (void)unused;
    CHECK_EQ(fin_waitset_dispatch(w), 0);
}

static void is_kept(void (*handler)(void *), bool in_step) {
    open_kind(PAIR, 4096, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, handler, NULL), 0);
    refused = 0;
    fin_finish {
        CHECK_EQ(fin_chan_send(a, "x", 1), 0);
        if (in_step)
            CHECK(fin_async_cont(dispatched_in_step, NULL, 0) != NULL);
        else
            fin_async_call(dispatched_in_body, NULL);
    }
    CHECK_EQ(refused, -EBUSY);
    fin_waitset_close(w);
    close_both();
}

static void dies(void *unused) {
    (void)unused;
    is_kept(ends_explicitly, true);
}

int main(void) {
    int status;
    alarm(60);
    pid_t pid = child(dies, NULL);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    for (moves = 0; moves < 2; moves++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int i = 0; i < 2; i++) {
                void *blocks = i ? &told : NULL;
                ended((enum kind)kind, dispatches, blocks);
                ended((enum kind)kind, NULL, blocks);
                if (kind != LOCAL && !moves)
                    ended((enum kind)kind, monitors, blocks);
            }
    is_kept(gives_up, true);
    is_kept(gives_up, false);
    answered(false);
    answered(true);
    return 0;
}

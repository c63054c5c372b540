// SPDX-License-Identifier: BSD-2-Clause
// Between AWEs of one thread requests and answers go to who waits for them, past the ring: with too little room a request
// stays, a cancel after one was given comes too late and one before it leaves it to the next, what comes for others of an
// end reaches them, and what is no request for this end or no answer to a call of it is handled as elsewhere.
#include "rpc.h"

static ssize_t taken[2];
static uint32_t ids[2];
static uint64_t values[2];

static void accepts(void *number) {
    int i = (int)(intptr_t)number;
    taken[i] = fin_rpc_accept(server, &values[i], sizeof values[i], &ids[i]);
}

static void asks(void *x) { CHECK_EQ(ask((uint64_t)(uintptr_t)x), 8); }

static void cancelled_too_late(void) {
    uint64_t x = 5;
    uint32_t id;
    fin_finish {
        fin_finish_as(all) {
            fin_async_call(accepts, (void *)0);
            CHECK_EQ(fin_rpc_send(caller, &x, sizeof x, &id), 0);
            fin_cancel_as(all);
        }
        CHECK_EQ(taken[0], 8);
        CHECK_EQ(values[0], 5);
        CHECK_EQ(ids[0], id);
        reply_to(ids[0], values[0]);
        CHECK_EQ(fin_rpc_recv(caller, id, &x, sizeof x), 8);
        CHECK_EQ(x, answer_to(5));
    }
}

static void cancelled_in_time(void) {
    uint64_t x = 6;
    uint32_t id;
    fin_finish_as(all) {
        fin_async_call(accepts, (void *)0);
        fin_cancel_as(all);
        CHECK_EQ(fin_rpc_send_nc(caller, &x, sizeof x, &id), 0);
    }
    CHECK_EQ(taken[0], -ECANCELED);
    accepts((void *)1);
    CHECK_EQ(taken[1], 8);
    reply_to(ids[1], values[1]);
    CHECK_EQ(fin_rpc_recv(caller, id, &x, sizeof x), 8);
    CHECK_EQ(x, answer_to(6));
}

static void no_room(void) {
    char large[40] = "a long request", p[40];
    uint32_t id;
    fin_finish {
        fin_async_call(accepts, (void *)0);
        CHECK_EQ(fin_rpc_send(caller, large, sizeof large, &id), 0);
    }
    CHECK_EQ(taken[0], -EMSGSIZE);
    CHECK_EQ(fin_rpc_accept(server, p, sizeof p, &id), sizeof p);
    CHECK_EQ(memcmp(p, large, sizeof p), 0);
    CHECK_EQ(fin_rpc_reply(server, id, p, 0), 0);
    CHECK_EQ(fin_rpc_recv(caller, id, p, sizeof p), 0);
}

// One reads for all who wait at its end; answers come in the other order.
static void for_others(void) {
    fin_finish {
        fin_async_call(accepts, (void *)0);
        fin_async_call(accepts, (void *)1);
        fin_async_call(asks, (void *)1);
        fin_async_call(asks, (void *)2);
        while (taken[0] != 8 || taken[1] != 8)
            fin_yield();
        reply_to(ids[1], values[1]);
        fin_yield();
        reply_to(ids[0], values[0]);
    }
    taken[0] = taken[1] = 0;
}

static void answers_empty(void *unused) {
    uint32_t id;
    (void)unused;
    CHECK_EQ(fin_rpc_accept(server, NULL, 0, &id), 0);
    CHECK_EQ(fin_rpc_reply(server, id, NULL, 0), 0);
}

static void nothing_in_it(void) {
    fin_finish {
        fin_async_call(answers_empty, NULL);
        CHECK_EQ(fin_rpc_call(caller, NULL, 0, NULL, 0), 0);
    }
}

static void strays(void) {
    uint64_t before = fin_rpc_strays(caller);
    fin_finish {
        fin_async_call(asks, (void *)3);
        uint64_t x;
        uint32_t id = next_request(&x);
        CHECK_EQ(fin_rpc_reply(server, id + 1, &x, sizeof x), 0); // to no call: the caller waits on
        CHECK_EQ(fin_rpc_strays(caller), before + 1);
        reply_to(id, x);
        CHECK_EQ(fin_rpc_reply(server, id, &x, sizeof x), 0); // again
    }
    nothing_in_it(); // reads it
    CHECK_EQ(fin_rpc_strays(caller), before + 2);
}

static void request_to_a_client(void) {
    uint32_t id;
    uint64_t x = 1;
    fin_shared ssize_t n = 0;
    fin_shared uint64_t y = 1;
    fin_finish {
        fin_async { n = fin_rpc_call(caller, &y, sizeof y, &y, sizeof y); };
        CHECK_EQ(fin_rpc_send(server, &x, sizeof x, &id), 0);
    }
    CHECK_EQ(n, -EPROTO);
}

static struct fin_on sleep_on;
static struct fin_chan_on bare_on;
static int bare_result;

static void bare_received(void *state, int n) {
    (void)state;
    bare_result = n;
    fin_cont_end();
}

static void sends_nothing(void *state, int result) {
    (void)result;
    fin_chan_send_recv_on(a, NULL, 0, NULL, 0, &bare_on, bare_received, state, 0);
}

static void sleeps_first(void *state, int result) {
    (void)result;
    fin_sleep_on(&sleep_on, 1, sends_nothing, state, 0);
}

// From an end that does not know of requests, without a stack: not even a word.
static void no_word(void) {
    open_kind(LOCAL, 4096, 0);
    CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
    fin_finish {
        fin_async_cont(sleeps_first, NULL, 0);
        accepts((void *)0);
        CHECK_EQ(taken[0], -EPROTO);
        CHECK_EQ(fin_rpc_close(server), 0);
    }
    CHECK_EQ(bare_result, -ESHUTDOWN);
    CHECK_EQ(fin_chan_close(a), 0);
}

int main(void) {
    alarm(60);
    open_rpc(LOCAL);
    for (int i = 0; i < 50; i++) {
        cancelled_too_late();
        cancelled_in_time();
        no_room();
        taken[0] = taken[1] = 0;
        for_others();
        nothing_in_it();
        strays();
    }
    close_rpc();
    open_rpc(LOCAL);
    request_to_a_client();
    close_rpc();
    no_word();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A null call over a channel within a thread (continuations, tables 4 and 5): a request of one word, an answer of one word.
// Each way without stacks stands beside the one with stacks that does the same: both through the queue, or both in one wait,
// in which the receiver gets the processor at once; where it has a continuation, that is recognized, and gets the stack.
#include "calls.h"

#include "sides.h"

static struct end client, server;

static double here(long n, const struct way *way) {
    struct fin_chan_options o = {0, FIN_CHAN_LOCAL};
    struct end *c = &client, *s = &server;
    uint64_t start = 0;
    double result = 0;
    BENCH_DID(fin_chan_pair(&c->chan, &s->chan, &o));
    c->left = n;
    fin_finish {
        BEGIN_SIDE(way->serves, way->serves_on, s);
        fin_yield();
        fin_finish {
            start = bench_ticks();
            if (way->calls)
                way->calls(c);
            else
                BENCH_MUST(fin_async_cont(way->calls_on, &c, sizeof c) != NULL);
        }
        result = bench_since(start, (double)n);
        fin_cancel();
    }
    fin_chan_close(c->chan);
    fin_chan_close(s->chan);
    return result;
}

double here_stacks_in_two(long n) { return here(n, &stacks_in_two); }
double here_stacks_in_one(long n) { return here(n, &stacks_in_one); }
double here_in_two(long n) { return here(n, &explicit_in_two); }
double here_in_one(long n) { return here(n, &explicit_in_one); }

// ---- fin/rpc.h: the server accepts one request after the other, or has a dispatch loop

struct rpc_end {
    struct fin_rpc_on on;
    struct fin_rpc *rpc;
    uint32_t id;
    long in, out, left;
};

static struct rpc_end rpc_client, rpc_server;

static void answer(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *arg) {
    long *n = request;
    (void)arg;
    *n += 1;
    fin_rpc_reply(r, id, n, size);
}

static void serve_calls(void *end) { fin_rpc_serve(((struct rpc_end *)end)->rpc, answer, NULL); }

static void serve_accepted(void *end) {
    struct rpc_end *s = end;
    while (fin_rpc_accept(s->rpc, &s->in, sizeof s->in, &s->id) >= 0) {
        s->out = s->in + 1;
        fin_rpc_reply(s->rpc, s->id, &s->out, sizeof s->out);
    }
}

static void serve_in_turn(void *end) {
    struct rpc_end *s = end;
    ssize_t n = fin_rpc_accept(s->rpc, &s->in, sizeof s->in, &s->id);
    while (n >= 0) {
        s->out = s->in + 1;
        n = fin_rpc_reply_accept(s->rpc, &s->out, sizeof s->out, &s->in, sizeof s->in, &s->id);
    }
}

static void call_rpc(struct rpc_end *c) {
    for (c->out = 0; c->out < c->left; c->out++) {
        ssize_t n = fin_rpc_call(c->rpc, &c->out, sizeof c->out, &c->in, sizeof c->in);
        BENCH_MUST(n == sizeof c->in && c->in == c->out + 1);
    }
}

// ---- the same without stacks

static void call_rpc_on(void *state, int n) {
    struct rpc_end *c = *(struct rpc_end **)state;
    BENCH_MUST(n >= 0 && (n == 0 || c->in == c->out + 1));
    if (c->left-- == 0)
        fin_cont_end();
    c->out = c->left;
    fin_rpc_call_on(c->rpc, &c->out, sizeof c->out, &c->in, sizeof c->in, &c->on, call_rpc_on, &c, sizeof c);
}

static void answer_rpc(void *state, int n) {
    struct rpc_end *s = *(struct rpc_end **)state;
    if (n < 0)
        fin_cont_end();
    s->out = s->in + 1;
    fin_rpc_reply(s->rpc, s->id, &s->out, sizeof s->out);
    fin_rpc_accept_on(s->rpc, &s->in, sizeof s->in, &s->id, &s->on, answer_rpc, &s, sizeof s);
}

static void begin_accepting(void *state, int result) {
    struct rpc_end *s = *(struct rpc_end **)state;
    (void)result;
    fin_rpc_accept_on(s->rpc, &s->in, sizeof s->in, &s->id, &s->on, answer_rpc, &s, sizeof s);
}

static void served(void *state, int result) {
    (void)state;
    (void)result;
    fin_cont_end();
}

static void begin_serving(void *state, int result) {
    struct rpc_end *s = *(struct rpc_end **)state;
    (void)result;
    fin_rpc_serve_on(s->rpc, answer, NULL, &s->on, served, &s, sizeof s);
}

// Of the server either a body or a continuation; the client is as it is.
static double here_rpc(long n, void (*serves)(void *), fin_cont *serves_on) {
    struct fin_chan_options o = {0, FIN_CHAN_LOCAL};
    struct rpc_end *c = &rpc_client, *s = &rpc_server;
    struct fin_chan *a, *b;
    uint64_t start = 0;
    double result = 0;
    BENCH_DID(fin_chan_pair(&a, &b, &o));
    BENCH_DID(fin_rpc_open(&c->rpc, a, FIN_RPC_CLIENT));
    BENCH_DID(fin_rpc_open(&s->rpc, b, 0));
    c->left = n;
    fin_finish {
        if (serves)
            fin_async_call(serves, s);
        else
            BENCH_MUST(fin_async_cont(serves_on, &s, sizeof s) != NULL);
        fin_yield();
        fin_finish {
            start = bench_ticks();
            if (serves)
                call_rpc(c);
            else
                BENCH_MUST(fin_async_cont(call_rpc_on, &c, sizeof c) != NULL);
        }
        result = bench_since(start, (double)n);
        fin_cancel();
    }
    fin_rpc_close(c->rpc);
    fin_rpc_close(s->rpc);
    return result;
}

double here_rpc_accepted(long n) { return here_rpc(n, serve_accepted, NULL); }
double here_rpc_in_turn(long n) { return here_rpc(n, serve_in_turn, NULL); }
double here_rpc_accepted_on(long n) { return here_rpc(n, NULL, begin_accepting); }
double here_rpc_served(long n) { return here_rpc(n, serve_calls, NULL); }
double here_rpc_served_on(long n) { return here_rpc(n, NULL, begin_serving); }

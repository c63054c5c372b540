// SPDX-License-Identifier: BSD-2-Clause
// A null call over a channel (continuations, tables 4 and 5): a request of one word, an answer of one word. Within a thread
// and between two processes; with stacks on both sides; without, through the queue; and in one wait, in which the receiver's
// continuation is recognized and, within a thread, gets the stack.
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fin.h>

#include "rows.h"

struct end {
    struct fin_chan_on on;
    struct fin_chan *chan;
    long in, out, left;
};

static void must(bool so, const char *what) {
    if (!so) {
        perror(what);
        exit(1);
    }
}

// ---- with stacks

static void serve_with_stack(void *end) {
    struct end *s = end;
    while (fin_chan_recv(s->chan, &s->in, sizeof s->in) >= 0) {
        s->out = s->in + 1;
        fin_chan_send(s->chan, &s->out, sizeof s->out);
    }
}

static void call_with_stack(struct end *c) {
    for (c->out = 0; c->out < c->left; c->out++) {
        fin_chan_send(c->chan, &c->out, sizeof c->out);
        must(fin_chan_recv(c->chan, &c->in, sizeof c->in) == sizeof c->in && c->in == c->out + 1, "an answer");
    }
}

// ---- without: one wait for both, or send and then receive

static void serve_in_one(void *state, int n) {
    struct end *s = *(struct end **)state;
    if (n < 0)
        fin_cont_end();
    s->out = s->in + 1;
    fin_chan_send_recv_on(s->chan, &s->out, sizeof s->out, &s->in, sizeof s->in, &s->on, serve_in_one, &s, sizeof s);
}

static void begin_in_one(void *state, int result) {
    struct end *s = *(struct end **)state;
    (void)result;
    fin_chan_recv_on(s->chan, &s->in, sizeof s->in, &s->on, serve_in_one, &s, sizeof s);
}

static void call_in_one(void *state, int n) {
    struct end *c = *(struct end **)state;
    must(n >= 0, "an answer");
    if (c->left-- == 0)
        fin_cont_end();
    c->out = c->left;
    fin_chan_send_recv_on(c->chan, &c->out, sizeof c->out, &c->in, sizeof c->in, &c->on, call_in_one, &c, sizeof c);
}

static void serve_in_two(void *state, int n) {
    struct end *s = *(struct end **)state;
    if (n < 0)
        fin_cont_end();
    s->out = s->in + 1;
    fin_chan_send(s->chan, &s->out, sizeof s->out);
    fin_chan_recv_on(s->chan, &s->in, sizeof s->in, &s->on, serve_in_two, &s, sizeof s);
}

static void begin_in_two(void *state, int result) {
    struct end *s = *(struct end **)state;
    (void)result;
    fin_chan_recv_on(s->chan, &s->in, sizeof s->in, &s->on, serve_in_two, &s, sizeof s);
}

static void call_in_two(void *state, int n) {
    struct end *c = *(struct end **)state;
    must(n >= 0, "an answer");
    if (c->left-- == 0)
        fin_cont_end();
    c->out = c->left;
    fin_chan_send(c->chan, &c->out, sizeof c->out);
    fin_chan_recv_on(c->chan, &c->in, sizeof c->in, &c->on, call_in_two, &c, sizeof c);
}

// ---- in one thread

static struct end client, server;

static double here(long n, fin_cont *calls, fin_cont *serves) {
    struct fin_chan_options o = {0, FIN_CHAN_LOCAL};
    struct end *c = &client, *s = &server;
    uint64_t start = 0;
    double result = 0;
    must(fin_chan_pair(&c->chan, &s->chan, &o) == 0, "a channel");
    c->left = n;
    fin_finish {
        if (serves)
            fin_async_cont(serves, &s, sizeof s);
        else
            fin_async_call(serve_with_stack, s);
        fin_yield();
        fin_finish {
            start = bench_ticks();
            if (calls)
                fin_async_cont(calls, &c, sizeof c);
            else
                call_with_stack(c);
        }
        result = bench_since(start, (double)n);
        fin_cancel();
    }
    fin_chan_close(c->chan);
    fin_chan_close(s->chan);
    return result;
}

static double here_with_stacks(long n) { return here(n, NULL, NULL); }
static double here_in_two(long n) { return here(n, call_in_two, begin_in_two); }
static double here_in_one(long n) { return here(n, call_in_one, begin_in_one); }

static void answer(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *arg) {
    long *n = request;
    (void)arg;
    *n += 1;
    fin_rpc_reply(r, id, n, size);
}

static void serve_calls(void *rpc) { fin_rpc_serve(rpc, answer, NULL); }

static double here_rpc(long n) {
    struct fin_chan_options o = {0, FIN_CHAN_LOCAL};
    struct fin_rpc *c, *s;
    uint64_t start;
    double result = 0;
    must(fin_chan_pair(&client.chan, &server.chan, &o) == 0 && fin_rpc_open(&c, client.chan, FIN_RPC_CLIENT) == 0 &&
             fin_rpc_open(&s, server.chan, 0) == 0,
         "rpc");
    fin_finish {
        fin_async_call(serve_calls, s);
        fin_yield();
        start = bench_ticks();
        for (long i = 0, a; i < n; i++)
            must(fin_rpc_call(c, &i, sizeof i, &a, sizeof a) == sizeof a && a == i + 1, "an answer");
        result = bench_since(start, (double)n);
        fin_cancel();
    }
    fin_rpc_close(c);
    fin_rpc_close(s);
    return result;
}

// ---- the same without stacks: the server accepts one request after the other, or has a dispatch loop

struct rpc_end {
    struct fin_rpc_on on;
    struct fin_rpc *rpc;
    uint32_t id;
    long in, out, left;
};

static struct rpc_end rpc_client, rpc_server;

static void call_rpc(void *state, int n) {
    struct rpc_end *c = *(struct rpc_end **)state;
    must(n >= 0 && (n == 0 || c->in == c->out + 1), "an answer");
    if (c->left-- == 0)
        fin_cont_end();
    c->out = c->left;
    fin_rpc_call_on(c->rpc, &c->out, sizeof c->out, &c->in, sizeof c->in, &c->on, call_rpc, &c, sizeof c);
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

static double here_rpc_on(long n, fin_cont *serves) {
    struct fin_chan_options o = {0, FIN_CHAN_LOCAL};
    struct rpc_end *c = &rpc_client, *s = &rpc_server;
    uint64_t start = 0;
    double result = 0;
    must(fin_chan_pair(&client.chan, &server.chan, &o) == 0 && fin_rpc_open(&c->rpc, client.chan, FIN_RPC_CLIENT) == 0 &&
             fin_rpc_open(&s->rpc, server.chan, 0) == 0,
         "rpc");
    c->left = n;
    fin_finish {
        fin_async_cont(serves, &s, sizeof s);
        fin_yield();
        fin_finish {
            start = bench_ticks();
            fin_async_cont(call_rpc, &c, sizeof c);
        }
        result = bench_since(start, (double)n);
        fin_cancel();
    }
    fin_rpc_close(c->rpc);
    fin_rpc_close(s->rpc);
    return result;
}

static double here_rpc_accepted(long n) { return here_rpc_on(n, begin_accepting); }
static double here_rpc_served(long n) { return here_rpc_on(n, begin_serving); }

// ---- between two processes: the server's serves whoever calls, with stacks or without

static int sockets[2][2];
static struct end remote[2];
static pid_t servers[2];

static void begin_server(int i) {
    must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets[i]) == 0, "socketpair");
    servers[i] = fork();
    must(servers[i] >= 0, "fork");
    if (servers[i] == 0) {
        struct end *s = &server;
        close(sockets[i][0]);
        must(fin_chan_take(&s->chan, sockets[i][1], 0) == 0, "a channel");
        fin_finish {
            if (i == 0)
                serve_with_stack(s);
            else
                fin_async_cont(begin_in_one, &s, sizeof s);
        }
        _exit(0);
    }
    close(sockets[i][1]);
}

void calls_begin(void) {
    for (int i = 0; i < 2; i++)
        begin_server(i);
}

static double there(long n, int which) {
    struct end *c = &remote[which];
    uint64_t start = 0;
    double result;
    if (!c->chan)
        must(fin_chan_offer(&c->chan, sockets[which][0], NULL) == 0, "a channel");
    c->left = n;
    fin_finish {
        start = bench_ticks();
        if (which == 0)
            call_with_stack(c);
        else
            fin_async_cont(call_in_one, &c, sizeof c);
    }
    result = bench_since(start, (double)n);
    return result;
}

static double there_with_stacks(long n) { return there(n, 0); }
static double there_in_one(long n) { return there(n, 1); }

enum { N = 20000, FAR = 200 };

static struct bench_row rows[] = {
    {"in a thread, with stacks", here_with_stacks, N, NULL},
    {"in a thread, explicit, queued", here_in_two, N, NULL, .base = 1},
    {"in a thread, explicit, recognized", here_in_one, N, NULL, .base = 1},
    {"in a thread, fin_rpc_call", here_rpc, N, NULL, .base = 1},
    {"in a thread, fin_rpc_call_on", here_rpc_accepted, N, NULL, .base = 4},
    {"in a thread, fin_rpc_call_on, served", here_rpc_served, N, NULL, .base = 4},
    {"between processes, with stacks", there_with_stacks, FAR, NULL},
    {"between processes, explicit", there_in_one, FAR, NULL, .base = 7},
};

void table_calls(void) {
    bench_table("calls", "A null call over a channel: cycles per round trip", "cycles", rows, BENCH_COUNT(rows));
}

// Of two processes both are to have ended, so that what counts in each has written what it counted.
bool calls_only(const char *row, long n) {
    for (size_t i = 0; i < BENCH_COUNT(rows); i++) {
        if (strcmp(rows[i].name, row) != 0)
            continue;
        int which = rows[i].run == there_with_stacks ? 0 : rows[i].run == there_in_one ? 1 : -1;
        if (which < 0)
            return rows[i].run(n) != 0;
        begin_server(which);
        bool ran = rows[i].run(n) != 0;
        fin_chan_close(remote[which].chan);
        return waitpid(servers[which], NULL, 0) == servers[which] && ran;
    }
    return false;
}

// SPDX-License-Identifier: BSD-2-Clause
// A null call over a channel (continuations, tables 4 and 5): a request of one word, an answer of one word. Within a thread
// and between two processes; with stacks on both sides; without, through the queue; and in one wait, in which the receiver's
// continuation is recognized and, within a thread, gets the stack. Between processes the stack goes to another caller, where
// there are several.
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
    struct fin_waitset *set;
    ssize_t got;
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

// ---- without, and without recognition: readiness is waited for, and then the message is received

static void take(void *end) {
    struct end *e = end;
    e->got = fin_chan_try_recv(e->chan, &e->in, sizeof e->in);
}

static bool waits_in_set(struct end *e) {
    return e->set || (fin_waitset_new(&e->set) == 0 && fin_waitset_add(e->set, e->chan, take, e) == 0);
}

static void serve_in_set(void *state, int result) {
    struct end *s = *(struct end **)state;
    if (result < 0 || (s->got < 0 && s->got != -EAGAIN))
        fin_cont_end();
    s->out = s->in + 1;
    if (s->got > 0)
        fin_chan_send(s->chan, &s->out, sizeof s->out);
    fin_waitset_dispatch_on(s->set, &s->on, serve_in_set, &s, sizeof s);
}

static void begin_in_set(void *state, int result) {
    struct end *s = *(struct end **)state;
    (void)result;
    must(waits_in_set(s), "a waitset");
    fin_waitset_dispatch_on(s->set, &s->on, serve_in_set, &s, sizeof s);
}

static void call_in_set(void *state, int result) {
    struct end *c = *(struct end **)state;
    must(result >= 0 && (c->got >= 0 || c->got == -EAGAIN) && waits_in_set(c), "an answer");
    if (c->got != -EAGAIN) {
        if (c->left-- == 0)
            fin_cont_end();
        c->out = c->left;
        fin_chan_send(c->chan, &c->out, sizeof c->out);
    }
    fin_waitset_dispatch_on(c->set, &c->on, call_in_set, &c, sizeof c);
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

// ---- between two processes: a server for each kind. Of several callers, each with a channel of its own, those who wait
// hand their stack to the next.

enum { CALLERS = 8, MANY_STACKS = 3, MANY_EXPLICIT, FARS };

static struct far {
    fin_cont *calls, *serves; // NULL: with stacks
    int callers;
    int sockets[CALLERS][2]; // a channel's each
    pid_t server;
    struct end ends[CALLERS];
    struct fin_stats before, after; // of the last repetition, here
} fars[FARS] = {
    {NULL, NULL, 1},
    {call_in_set, begin_in_set, 1},
    {call_in_one, begin_in_one, 1},
    [MANY_STACKS] = {NULL, NULL, CALLERS},
    [MANY_EXPLICIT] = {call_in_one, begin_in_one, CALLERS},
};

static void calls_with_stack(void *end) { call_with_stack(end); }

static void serve_far(struct far *f) {
    for (int i = 0; i < f->callers; i++)
        must(fin_chan_take(&f->ends[i].chan, f->sockets[i][1], 0) == 0, "a channel");
    fin_finish {
        for (int i = 0; i < f->callers; i++) {
            struct end *s = &f->ends[i];
            if (f->serves)
                fin_async_cont(f->serves, &s, sizeof s);
            else
                fin_async_call(serve_with_stack, s);
        }
    }
}

static void begin_server(struct far *f) {
    for (int i = 0; i < f->callers; i++)
        must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, f->sockets[i]) == 0, "socketpair");
    f->server = fork();
    must(f->server >= 0, "fork");
    for (int i = 0; i < f->callers; i++)
        close(f->sockets[i][f->server != 0]);
    if (f->server == 0) {
        lock_step_child();
        serve_far(f);
        lock_step_end();
        _exit(0);
    }
}

void calls_begin(void) {
    for (int i = 0; i < FARS; i++)
        begin_server(&fars[i]);
}

static double there(long n, struct far *f) {
    uint64_t start = 0;
    n /= f->callers;
    for (int i = 0; i < f->callers; i++) {
        if (!f->ends[i].chan)
            must(fin_chan_offer(&f->ends[i].chan, f->sockets[i][0], NULL) == 0, "a channel");
        f->ends[i].left = n;
        f->ends[i].got = 0;
    }
    fin_stats(&f->before);
    fin_finish {
        start = bench_ticks();
        for (int i = 0; i < f->callers; i++) {
            struct end *c = &f->ends[i];
            if (f->calls)
                fin_async_cont(f->calls, &c, sizeof c);
            else
                fin_async_call(calls_with_stack, c);
        }
    }
    double result = bench_since(start, (double)(n * f->callers));
    fin_stats(&f->after);
    return result;
}

static double there_with_stacks(long n) { return there(n, &fars[0]); }
static double there_in_set(long n) { return there(n, &fars[1]); }
static double there_in_one(long n) { return there(n, &fars[2]); }
static double there_many_stacks(long n) { return there(n, &fars[MANY_STACKS]); }
static double there_many_in_one(long n) { return there(n, &fars[MANY_EXPLICIT]); }

// FAR: so many that it matters little that the server's process was asleep when they began.
enum { N = 20000, FAR = 4000 };

static struct bench_row rows[] = {
    {"in a thread, with stacks", here_with_stacks, N, NULL},
    {"in a thread, explicit, queued", here_in_two, N, NULL, .base = 1},
    {"in a thread, explicit, recognized", here_in_one, N, NULL, .base = 1},
    {"in a thread, fin_rpc_call", here_rpc, N, NULL, .base = 1},
    {"in a thread, fin_rpc_call_on", here_rpc_accepted, N, NULL, .base = 4},
    {"in a thread, fin_rpc_call_on, served", here_rpc_served, N, NULL, .base = 4},
    {"between processes, with stacks", there_with_stacks, FAR, NULL},
    {"between processes, explicit, by a waitset", there_in_set, FAR, NULL, .base = 7},
    {"between processes, explicit", there_in_one, FAR, NULL, .base = 7},
    {"between processes, 8 callers, with stacks", there_many_stacks, FAR, NULL},
    {"between processes, 8 callers, explicit", there_many_in_one, FAR, NULL, .base = 10},
};

static struct far *far_of(const struct bench_row *row) {
    static double (*const runs[FARS])(long) = {there_with_stacks, there_in_set, there_in_one, there_many_stacks,
                                               there_many_in_one};
    for (int i = 0; i < FARS; i++)
        if (row->run == runs[i])
            return &fars[i];
    return NULL;
}

// How the callers waited, in the last repetition.
static void table_waits(void) {
    printf("\nWaits of the callers between processes, for each call\n");
    printf("  %-42s%12s%12s%12s%12s\n", "", "compressed", "handed off", "recognized", "slept");
    for (size_t i = 0; i < BENCH_COUNT(rows); i++) {
        const struct far *f = far_of(&rows[i]);
        if (!f)
            continue;
        const struct fin_stats *a = &f->after, *b = &f->before;
        const uint64_t counts[] = {a->compressed - b->compressed, a->handed_off - b->handed_off,
                                   a->recognized - b->recognized, a->slept - b->slept};
        printf("  %-42s", rows[i].name);
        for (size_t j = 0; j < BENCH_COUNT(counts); j++)
            printf("%12.2f", (double)counts[j] / FAR);
        printf("\n");
    }
}

void table_calls(void) {
    bench_table("calls", "A null call over a channel: cycles per round trip", "cycles", rows, BENCH_COUNT(rows));
    table_waits();
}

// Of two processes both are to have ended, so that what counts in each has written what it counted.
static bool far_only(const struct bench_row *row, struct far *f, long n) {
    begin_server(f);
    bool ran = row->run(n) != 0;
    lock_step_end();
    for (int i = 0; i < f->callers; i++) {
        fin_chan_close(f->ends[i].chan);
        if (f->ends[i].set)
            fin_waitset_close(f->ends[i].set);
    }
    return waitpid(f->server, NULL, 0) == f->server && ran;
}

bool calls_only(const char *name, long n) {
    for (size_t i = 0; i < BENCH_COUNT(rows); i++) {
        struct far *f = far_of(&rows[i]);
        if (strcmp(rows[i].name, name) == 0)
            return f ? far_only(&rows[i], f, n) : rows[i].run(n) != 0;
    }
    return false;
}

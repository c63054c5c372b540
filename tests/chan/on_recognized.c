// SPDX-License-Identifier: BSD-2-Clause
// Two AWEs of a thread that call and answer without stacks: each hands the other its message and its stack, and nobody goes
// through the queue. Others of the thread have their turns, and timers run.
#include "chan.h"

enum { CALLS = 20000 };

struct end {
    struct fin_chan_on on;
    struct fin_chan *chan;
    uint64_t in, out;
};

static struct end client, server;
static uint64_t others;
static bool over;

static void serve(void *state, int n) {
    struct end *s = *(struct end **)state;
    if (n < 0)
        fin_cont_end();
    s->out = s->in + 1;
    fin_chan_send_recv_on(s->chan, &s->out, sizeof s->out, &s->in, sizeof s->in, &s->on, serve, &s, sizeof s);
}

static void wait_for_calls(void *state, int result) {
    struct end *s = *(struct end **)state;
    CHECK_EQ(result, 0);
    fin_chan_recv_on(s->chan, &s->in, sizeof s->in, &s->on, serve, &s, sizeof s);
}

static void call(void *state, int n) {
    struct end *s = *(struct end **)state;
    CHECK_EQ(n, sizeof s->in);
    CHECK_EQ(s->in, s->out + 1);
    if (s->out++ == CALLS)
        fin_cont_end();
    fin_chan_send_recv_on(s->chan, &s->out, sizeof s->out, &s->in, sizeof s->in, &s->on, call, &s, sizeof s);
}

static void begin_to_call(void *state, int result) {
    struct end *s = *(struct end **)state;
    CHECK_EQ(result, 0);
    s->in = s->out + 1;
    call(&s, sizeof s->in);
}

static void another(void *unused) {
    (void)unused;
    while (!over) {
        others++;
        fin_yield();
    }
}

int main(void) {
    struct fin_stats t;
    struct end *c = &client, *s = &server;
    open_kind(LOCAL, 0, 0);
    c->chan = a;
    s->chan = b;
    fin_finish_as(all) {
        fin_async_cont(wait_for_calls, &s, sizeof s);
        fin_yield();
        fin_stats_clear();
        fin_finish {
            fin_async_cont(begin_to_call, &c, sizeof c);
        }
        fin_stats(&t);
        const struct fin_blocks *m = &t.blocks[FIN_FOR_MESSAGE];
        CHECK_EQ(m->with_stack, 0);
        CHECK_EQ(m->with_continuation, 2 * CALLS);
        CHECK_EQ(m->recognized, 2 * CALLS);
        CHECK(m->handed_off <= 2 * CALLS);
        if (fin_self->exceptions[0] == NULL) // no sanitizer follows every stack
            CHECK(m->handed_off >= 2 * CALLS * 9 / 10);
        CHECK_EQ(t.detached, 0);
        fin_cancel_as(all);
    }
    close_both();
    open_kind(LOCAL, 0, 0);
    c->chan = a;
    s->chan = b;
    c->out = 0;
    fin_finish_as(all) {
        fin_async_cont(wait_for_calls, &s, sizeof s);
        fin_async_call(another, NULL);
        fin_finish {
            fin_async_cont(begin_to_call, &c, sizeof c);
        }
        over = true;
        fin_cancel_as(all);
    }
    CHECK(others >= CALLS / 100);
    close_both();
    return 0;
}

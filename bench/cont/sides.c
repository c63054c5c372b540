// SPDX-License-Identifier: BSD-2-Clause
#include "sides.h"

#include "rows.h"

// Each way is written once, and is a function of its own for those who pause, so that the others pay nothing for it.
#define WAY static inline __attribute__((always_inline))

// ---- with stacks

WAY void serve_two(struct end *s) {
    while (fin_chan_recv(s->chan, &s->in, sizeof s->in) >= 0) {
        s->out = s->in + 1;
        fin_chan_send(s->chan, &s->out, sizeof s->out);
    }
}

WAY void call_two(struct end *c) {
    for (c->out = 0; c->out < c->left; c->out++) {
        fin_chan_send(c->chan, &c->out, sizeof c->out);
        BENCH_MUST(fin_chan_recv(c->chan, &c->in, sizeof c->in) == sizeof c->in && c->in == c->out + 1);
    }
}

WAY void serve_one(struct end *s, bool pauses) {
    ssize_t n = fin_chan_recv(s->chan, &s->in, sizeof s->in);
    while (n >= 0) {
        if (pauses)
            lock_step_pause();
        s->out = s->in + 1;
        n = fin_chan_send_recv(s->chan, &s->out, sizeof s->out, &s->in, sizeof s->in);
    }
}

WAY void call_one(struct end *c, bool pauses) {
    for (c->out = 0; c->out < c->left; c->out++) {
        if (pauses)
            lock_step_pause();
        ssize_t n = fin_chan_send_recv(c->chan, &c->out, sizeof c->out, &c->in, sizeof c->in);
        BENCH_MUST(n == sizeof c->in && c->in == c->out + 1);
    }
}

static void serve_stack_in_two(void *end) { serve_two(end); }
static void call_stack_in_two(void *end) { call_two(end); }
static void serve_stack_in_one(void *end) { serve_one(end, false); }
static void call_stack_in_one(void *end) { call_one(end, false); }
static void serve_stack_late(void *end) { serve_one(end, true); }
static void call_stack_late(void *end) { call_one(end, true); }

// ---- without: send and then receive, or one wait for both

static void serve_in_two(void *state, int n) {
    struct end *s = *(struct end **)state;
    if (n < 0)
        fin_cont_end();
    s->out = s->in + 1;
    fin_chan_send(s->chan, &s->out, sizeof s->out);
    fin_chan_recv_on(s->chan, &s->in, sizeof s->in, &s->on, serve_in_two, &s, sizeof s);
}

static void call_in_two(void *state, int n) {
    struct end *c = *(struct end **)state;
    BENCH_MUST(n >= 0);
    if (c->left-- == 0)
        fin_cont_end();
    c->out = c->left;
    fin_chan_send(c->chan, &c->out, sizeof c->out);
    fin_chan_recv_on(c->chan, &c->in, sizeof c->in, &c->on, call_in_two, &c, sizeof c);
}

WAY void serve_again(struct end *s, int n, fin_cont *again, bool pauses) {
    if (n < 0)
        fin_cont_end();
    if (pauses)
        lock_step_pause();
    s->out = s->in + 1;
    fin_chan_send_recv_on(s->chan, &s->out, sizeof s->out, &s->in, sizeof s->in, &s->on, again, &s, sizeof s);
}

WAY void call_again(struct end *c, int n, fin_cont *again, bool pauses) {
    BENCH_MUST(n >= 0);
    if (c->left-- == 0)
        fin_cont_end();
    if (pauses)
        lock_step_pause();
    c->out = c->left;
    fin_chan_send_recv_on(c->chan, &c->out, sizeof c->out, &c->in, sizeof c->in, &c->on, again, &c, sizeof c);
}

static void serve_in_one(void *state, int n) { serve_again(*(struct end **)state, n, serve_in_one, false); }
static void call_in_one(void *state, int n) { call_again(*(struct end **)state, n, call_in_one, false); }
static void serve_late(void *state, int n) { serve_again(*(struct end **)state, n, serve_late, true); }
static void call_late(void *state, int n) { call_again(*(struct end **)state, n, call_late, true); }

WAY void begin(struct end *s, fin_cont *first) {
    fin_chan_recv_on(s->chan, &s->in, sizeof s->in, &s->on, first, &s, sizeof s);
}

static void begin_in_two(void *state, int unused) { (void)unused, begin(*(struct end **)state, serve_in_two); }
static void begin_in_one(void *state, int unused) { (void)unused, begin(*(struct end **)state, serve_in_one); }
static void begin_late(void *state, int unused) { (void)unused, begin(*(struct end **)state, serve_late); }

// ---- without, and without recognition: readiness is waited for, and then the message is received

static void take(void *end) {
    struct end *e = end;
    e->got = fin_chan_try_recv(e->chan, &e->in, sizeof e->in);
}

static bool waits_in_set(struct end *e) {
    return e->set || (fin_waitset_new(&e->set) == 0 && fin_waitset_add(e->set, e->chan, take, e) == 0);
}

WAY void serve_set(struct end *s, int result, fin_cont *again, bool pauses) {
    if (result < 0 || (s->got < 0 && s->got != -EAGAIN))
        fin_cont_end();
    if (pauses && s->got > 0)
        lock_step_pause();
    s->out = s->in + 1;
    if (s->got > 0)
        fin_chan_send(s->chan, &s->out, sizeof s->out);
    fin_waitset_dispatch_on(s->set, &s->on, again, &s, sizeof s);
}

WAY void call_set(struct end *c, int result, fin_cont *again, bool pauses) {
    BENCH_MUST(result >= 0 && (c->got >= 0 || c->got == -EAGAIN) && waits_in_set(c));
    if (c->got != -EAGAIN) {
        if (c->left-- == 0)
            fin_cont_end();
        if (pauses)
            lock_step_pause();
        c->out = c->left;
        fin_chan_send(c->chan, &c->out, sizeof c->out);
    }
    fin_waitset_dispatch_on(c->set, &c->on, again, &c, sizeof c);
}

WAY void begin_set(struct end *s, fin_cont *first) {
    BENCH_MUST(waits_in_set(s));
    fin_waitset_dispatch_on(s->set, &s->on, first, &s, sizeof s);
}

static void serve_in_set(void *state, int result) { serve_set(*(struct end **)state, result, serve_in_set, false); }
static void call_in_set(void *state, int result) { call_set(*(struct end **)state, result, call_in_set, false); }
static void begin_in_set(void *state, int unused) { (void)unused, begin_set(*(struct end **)state, serve_in_set); }
static void serve_set_late(void *state, int result) { serve_set(*(struct end **)state, result, serve_set_late, true); }
static void call_set_late(void *state, int result) { call_set(*(struct end **)state, result, call_set_late, true); }
static void begin_set_late(void *state, int unused) { (void)unused, begin_set(*(struct end **)state, serve_set_late); }

const struct way stacks_in_two = {.calls = call_stack_in_two, .serves = serve_stack_in_two};
const struct way stacks_in_one = {.calls = call_stack_in_one, .serves = serve_stack_in_one};
const struct way explicit_in_two = {.calls_on = call_in_two, .serves_on = begin_in_two};
const struct way explicit_in_one = {.calls_on = call_in_one, .serves_on = begin_in_one};
const struct way explicit_in_set = {.calls_on = call_in_set, .serves_on = begin_in_set};
const struct way stacks_asleep = {.calls = call_stack_late, .serves = serve_stack_late};
const struct way explicit_asleep = {.calls_on = call_late, .serves_on = begin_late};
const struct way set_asleep = {.calls_on = call_set_late, .serves_on = begin_set_late};
const struct way stacks_behind = {.calls = call_stack_in_one, .serves = serve_stack_late};
const struct way explicit_behind = {.calls_on = call_in_one, .serves_on = begin_late};

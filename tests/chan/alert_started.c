// SPDX-License-Identifier: BSD-2-Clause
// An AWE is to compute, and others come first: those that an alert found, or one that has handled an event and is not in
// line for the next yet. Whoever started that AWE goes on before them, and computes, or makes steps: they run first all the
// same.
#include "alert.h"

enum { EVENTS = 3 };

static struct fin_chan_on on;

static void computes_a_bit(void *unused) {
    (void)unused;
    fin_alert_enable();
    fin_alert_disable();
}

static void makes_a_step(void *unused) {
    (void)unused;
    unsigned n = 0;
    fin_monitored_step(one_step_of, &n);
}

static void next(void *state, int r) {
    if (r == 0)
        fin_waitset_dispatch_on(w, &on, next, state, 0);
    fin_cont_end();
}

static void serve_on(void *unused) {
    (void)unused;
    fin_waitset_dispatch_on(w, &on, next, NULL, 0);
    CHECK(false);
}

static void send_one(unsigned n) { CHECK_EQ(fin_chan_send(a, &n, sizeof n), 0); }

static void send_more(void *unused) {
    (void)unused;
    for (unsigned n = 1; n < EVENTS; n++) {
        while (handled < n)
            sched_yield();
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        send_one(n);
    }
}

// It waits in line when the message comes.
static void alerted(void (*starts)(void *), void (*computes_until)(unsigned)) {
    CHECK_EQ(fin_waitset_monitor(w), 0);
    fin_finish {
        fin_async_call(serve, NULL);
        fin_yield();
        send_one(0);
        fin_async_call(starts, NULL);
        computes_until(1);
        fin_cancel();
    }
}

// It finds a message at once, and has given up its stack.
static void handled_at_once(void (*starts)(void *), void (*computes_until)(unsigned)) {
    struct fin_thread_handle h;
    send_one(0);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    fin_finish {
        fin_async_call(serve_on, NULL);
        fin_async_call(starts, NULL);
        CHECK_EQ(fin_thread_start(&h, send_more, NULL), 0);
        computes_until(EVENTS);
        fin_cancel();
    }
    fin_thread_join_nc(&h);
}

static void scene(enum kind kind, void (*begins)(void (*)(void *), void (*)(unsigned))) {
    static void (*const starts[])(void *) = {computes_a_bit, makes_a_step};
    static void (*const computes_until[])(unsigned) = {compute_until, step_until};
    for (int i = 0; i < 4; i++) {
        handled = 0;
        open_set(kind, 1);
        begins(starts[i / 2], computes_until[i % 2]);
        fin_waitset_close(w);
        close_both();
    }
}

int main(void) {
    needs_signals();
    for (enum kind kind = PAIR; kind < KINDS; kind++) {
        scene(kind, alerted);
        scene(kind, handled_at_once);
    }
    return 0;
}

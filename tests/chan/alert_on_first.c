// SPDX-License-Identifier: BSD-2-Clause
// An AWE that gives up its stack to wait in a monitored set, and may find an event at once, waits for the next one before
// whoever started it computes, or makes steps: so an alert finds it.
#include "alert.h"

enum { EVENTS = 3 };

static struct fin_chan_on on;
static void *chan;
static unsigned ended;

static void handle_next(void *state, int r) {
    if (r == 0)
        handle(chan);
    if (r == 0)
        fin_waitset_next_on(w, &chan, &on, handle_next, state, 0);
    ended++;
    fin_cont_end();
}

static void next(void *state, int r) {
    if (r == 0)
        fin_waitset_dispatch_on(w, &on, next, state, 0);
    ended++;
    fin_cont_end();
}

static void begin(void *unused) {
    (void)unused;
    fin_waitset_dispatch_on(w, &on, next, NULL, 0);
    CHECK(false);
}

static void begin_next(void *unused) {
    (void)unused;
    fin_waitset_next_on(w, &chan, &on, handle_next, NULL, 0);
    CHECK(false);
}

static void send_more(void *first) {
    for (unsigned n = *(unsigned *)first; n < EVENTS; n++) {
        while (handled < n)
            sched_yield();
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_chan_send(a, &n, sizeof n), 0);
    }
}

static void scene(enum kind kind, void (*begins)(void *), unsigned at_once, void (*computes_until)(unsigned)) {
    struct fin_thread_handle h;
    handled = ended = 0;
    open_set(kind, 1);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    if (at_once)
        CHECK_EQ(fin_chan_send(a, &ended, sizeof ended), 0);
    fin_finish {
        fin_async_call(begins, NULL);
        CHECK_EQ(fin_thread_start(&h, send_more, &at_once), 0);
        computes_until(EVENTS);
        fin_cancel();
    }
    CHECK_EQ(ended, 1);
    fin_thread_join_nc(&h);
    fin_waitset_poll(w);
    fin_waitset_close(w);
    close_both();
}

int main(void) {
    needs_signals();
    for (enum kind kind = PAIR; kind < KINDS; kind++)
        for (unsigned at_once = 0; at_once < 2; at_once++) {
            scene(kind, begin, at_once, compute_until);
            scene(kind, begin_next, at_once, compute_until);
            scene(kind, begin, at_once, step_until);
            scene(kind, begin_next, at_once, step_until);
        }
    return 0;
}

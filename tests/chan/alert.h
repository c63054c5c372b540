// SPDX-License-Identifier: BSD-2-Clause
// A computation that goes on until somebody has handled enough, or long enough to be sure that nobody does.
#ifndef FIN_TESTS_CHAN_ALERT_H
#define FIN_TESTS_CHAN_ALERT_H

#include "chan.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

static struct fin_waitset *w;
static unsigned volatile handled;
static bool volatile disabled; // the computation is where nothing may happen
static double sum;                    // in a register, most of the time

static void handle(void *chan) {
    unsigned number;
    CHECK(!disabled);
    CHECK_EQ(fin_chan_try_recv(chan, &number, sizeof number), sizeof number);
    CHECK_EQ(number, handled);
    handled++;
}

__attribute__((unused)) static void serve(void *unused) {
    (void)unused;
    while (fin_waitset_dispatch_monitored(w) == 0) {
    }
}

// Ends with an alarm where a message is forgotten. Valgrind runs one thread at a time, and another not before a system call
// or some milliseconds. A system whose processors are all busy has the sender wait as long: to it this gives way at times.
__attribute__((unused)) static void compute_until(unsigned count) {
    const unsigned computes = on_valgrind() ? 1 : 1 << 17;
    double x = 1;
    fin_alert_enable();
    for (unsigned n = 1; handled < count; n++) {
        x = x * 1.0000001 + 1e-9;
        if (n % computes == 0)
            sched_yield();
    }
    fin_alert_disable();
    sum += x;
}

__attribute__((unused)) static void one_step_of(void *n) { ++*(unsigned *)n; }

// The same by steps.
__attribute__((unused)) static void step_until(unsigned count) {
    unsigned n = 0;
    while (handled < count) {
        fin_monitored_step(one_step_of, &n);
        if (on_valgrind() || n % (1 << 17) == 0)
            sched_yield();
    }
}

// TSan calls handlers of signals when it likes, not where they come, and knows nothing of what they run.
__attribute__((unused)) static void needs_signals(void) {
    if (ON_TSAN)
        SKIP("a signal handler that runs other AWEs under TSan");
    alarm(60);
}

static bool volatile over __attribute__((unused));

// `scenes`, while an AWE serves the set, whose channel is a and b, and another thread runs `sends` until all is over.
__attribute__((unused)) static void beside_sender(void (*sends)(void *), void (*scenes)(void)) {
    struct fin_thread_handle sender;
    CHECK_EQ(fin_waitset_monitor(w), 0);
    CHECK_EQ(fin_thread_start(&sender, sends, NULL), 0);
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        scenes();
        fin_cancel_as(all);
    }
    over = true;
    fin_thread_join_nc(&sender);
    fin_waitset_close(w);
    close_both();
}

__attribute__((unused)) static void open_set(enum kind kind, unsigned channels) {
    CHECK_EQ(fin_waitset_new(&w), 0);
    for (unsigned i = 0; i < channels; i++) {
        open_kind(kind, 4096, 0);
        CHECK_EQ(fin_waitset_add(w, b, handle, b), 0);
    }
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// An alert wakes who waits in a monitored set without a stack, too; so does a cancel after that.
#include "alert.h"

enum { MESSAGES = 300 }; // more than turns of others
static struct fin_chan_on on;
static int ended;

static void next(void *state, int r) {
    if (r == 0)
        fin_waitset_dispatch_on(w, &on, next, state, 0);
    ended = r;
    fin_cont_end();
}

static void send_now_and_then(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < MESSAGES; i++) {
        while (handled < i)
            sched_yield();
        CHECK_EQ(fin_chan_send(a, &i, sizeof i), 0);
    }
}

int main(void) {
    needs_signals();
    for (enum kind kind = PAIR; kind < KINDS; kind++) {
        struct fin_thread_handle sender;
        handled = 0;
        open_set(kind, 1);
        CHECK_EQ(fin_waitset_monitor(w), 0);
        fin_finish {
            CHECK(fin_async_cont(next, NULL, 0) != NULL);
            fin_yield();
            CHECK_EQ(fin_thread_start(&sender, send_now_and_then, NULL), 0);
            compute_until(MESSAGES);
            fin_cancel();
        }
        CHECK_EQ(ended, -ECANCELED);
        fin_thread_join_nc(&sender);
        fin_waitset_poll(w);
        fin_waitset_close(w);
        close_both();
    }
    return 0;
}

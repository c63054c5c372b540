// SPDX-License-Identifier: BSD-2-Clause
// Steps of a computation: each is done once, in order, and between them messages are handled, those of another thread, of
// the same one, and of sockets; among them those that come in a step. Without transactions no step aborts.
#include "alert.h"

enum { CHANNELS = 3 };
static struct fin_chan *from[CHANNELS], *to[CHANNELS];
static unsigned messages, steps;

static void step(void *count) { ++*(unsigned *)count; }

static void sends(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < messages; i++) {
        while (handled < i)
            CHECK_EQ(fin_sleep(1000), 0);
        CHECK_EQ(fin_chan_send(from[i % CHANNELS], &i, sizeof i), 0);
    }
}

int main(void) {
    struct fin_thread_handle sender;
    needs_signals();
    messages = few(200);
    CHECK_EQ(fin_waitset_new(&w), 0);
    for (int i = 0; i < CHANNELS; i++) {
        open_kind(i % 2 ? SOCKET : PAIR, 4096, 0);
        from[i] = a;
        to[i] = b;
        CHECK_EQ(fin_waitset_add(w, b, handle, b), 0);
    }
    CHECK_EQ(fin_waitset_monitor(w), 0);
    CHECK_EQ(fin_thread_start(&sender, sends, NULL), 0);
    unsigned done = 0, aborts = 0;
    bool transactions = strstr(fin_alert_backend(), "no RTM") == NULL;
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        while (handled < messages) {
            int r = fin_monitored_step(step, &steps);
            CHECK(r >= 0);
            aborts += (unsigned)r;
            CHECK_EQ(steps, ++done);
            if (on_valgrind())
                usleep(1); // it runs one thread at a time, and would seldom run the other one
        }
        fin_cancel_as(all);
    }
    CHECK(transactions || aborts == 0);
    fin_thread_join_nc(&sender);
    for (int i = 0; i < CHANNELS; i++) {
        CHECK_EQ(fin_chan_close(from[i]), 0);
        CHECK_EQ(fin_chan_close(to[i]), 0);
    }
    fin_waitset_close(w);
    return 0;
}

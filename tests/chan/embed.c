// SPDX-License-Identifier: BSD-2-Clause
// Messages of other threads and alerts, in a thread that sleeps in a loop which is not Fin's.
#include <poll.h>

#include "chan.h"

enum { MESSAGES = 500 };

static int received, handled;

static void sends(void *chan) {
    struct fin_chan *c = chan;
    int answer;
    for (int i = 0; i < MESSAGES; i++) {
        CHECK_EQ(fin_chan_send(c, &i, sizeof i), 0);
        if (i % 3)
            continue;
        CHECK_EQ(fin_chan_recv(c, &answer, sizeof answer), sizeof answer);
        CHECK_EQ(answer, i);
        if (i % 60 == 0)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
    }
}

static FIN_BLOCKING void receives(void *chan) {
    int n;
    for (int i = 0; i < MESSAGES; i++) {
        CHECK_EQ(fin_chan_recv(chan, &n, sizeof n), sizeof n);
        CHECK_EQ(n, i);
        received++;
        if (i % 3 == 0)
            CHECK_EQ(fin_chan_send(chan, &n, sizeof n), 0);
    }
}

static void handle(void *chan) {
    int n;
    while (fin_chan_try_recv(chan, &n, sizeof n) == sizeof n) {
        CHECK_EQ(n, handled++);
        if (n % 3 == 0)
            CHECK_EQ(fin_chan_try_send(chan, &n, sizeof n), 0);
    }
}

static FIN_BLOCKING void dispatches(void *set) {
    while (fin_waitset_dispatch_monitored(set) == 0)
        continue;
}

static void one_step(void *unused) { (void)unused; }

// A step makes the thread look at the lines of its messages (fin/alert.h), as long as it does not sleep.
static FIN_BLOCKING void loop_until(const int *count) {
    struct pollfd p = {.fd = fin_embed_fd(), .events = POLLIN};
    while (*count < MESSAGES) {
        fin_monitored_step(one_step, NULL);
        CHECK_EQ(fin_embed_run(), 0);
        if (*count < MESSAGES)
            CHECK_EQ(poll(&p, 1, 20000), 1);
    }
}

static void by_awe(void) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_chan_pair(&a, &b, NULL), 0);
    CHECK_EQ(fin_thread_start(&t, sends, b), 0);
    fin_finish {
        fin_async_call(receives, a);
        loop_until(&received);
    }
    fin_thread_join_nc(&t);
    CHECK_EQ(fin_chan_close(a), 0);
    CHECK_EQ(fin_chan_close(b), 0);
}

static void by_alert(void) {
    struct fin_thread_handle t;
    struct fin_waitset *w;
    CHECK_EQ(fin_chan_pair(&a, &b, NULL), 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, a, handle, a), 0);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    CHECK_EQ(fin_thread_start(&t, sends, b), 0);
    fin_finish {
        fin_async_call(dispatches, w);
        loop_until(&handled);
        fin_thread_join_nc(&t);
        fin_waitset_shutdown(w);
    }
    fin_waitset_close(w);
    CHECK_EQ(fin_chan_close(a), 0);
    CHECK_EQ(fin_chan_close(b), 0);
}

int main(void) {
    by_awe();
    by_alert();
    return 0;
}

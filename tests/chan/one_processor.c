// SPDX-License-Identifier: BSD-2-Clause
// Who waits for another process gives its processor away before it sleeps, however it waits: the other one may have been
// waiting for just that. Here it is the test's sched_yield(2) that sends.
#include "chan.h"

enum { SIZE = 8 };
static struct fin_chan_on on;
static char buffer[SIZE];
static int result, turns;
static bool looks_on; // the message comes with the second turn only
static long now, turn_takes;

// The test's time: after a turn that took long none is given for a while, so that no turn may, however slow the machine is.
int clock_gettime(clockid_t clock, struct timespec *t) {
    (void)clock;
    now += 1000;
    *t = (struct timespec){now / 1000000000, now % 1000000000};
    return 0;
}

int sched_yield(void) {
    if (++turns == 1 + looks_on)
        CHECK_EQ(fin_chan_try_send(a, "message", SIZE), 0);
    now += turn_takes;
    return 0;
}

static void has(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

static void receive(void *state, int r) {
    (void)state;
    CHECK_EQ(r, 0);
    fin_chan_recv_on(b, buffer, sizeof buffer, &on, has, NULL, 0);
}

static void take(void *unused) {
    (void)unused;
    result = (int)fin_chan_try_recv(b, buffer, sizeof buffer);
}

static void dispatched(void *state, int r) {
    (void)state;
    CHECK_EQ(r, 0);
    fin_cont_end();
}

static struct fin_waitset *w;

static void dispatch(void *state, int r) {
    (void)state;
    CHECK_EQ(r, 0);
    fin_waitset_dispatch_on(w, &on, dispatched, NULL, 0);
}

static void ask(void *state, int r) {
    (void)state;
    CHECK_EQ(r, 0);
    fin_chan_send_recv_on(b, "?", 1, buffer, sizeof buffer, &on, has, NULL, 0);
}

static void by_recv(void) { result = (int)fin_chan_recv(b, buffer, sizeof buffer); }
static void by_recv_on(void) { fin_finish CHECK(fin_async_cont(receive, NULL, 0)); }
static void by_send_recv_on(void) { fin_finish CHECK(fin_async_cont(ask, NULL, 0)); }
static void by_dispatch(void) { CHECK_EQ(fin_waitset_dispatch(w), 0); }
static void by_dispatch_on(void) { fin_finish CHECK(fin_async_cont(dispatch, NULL, 0)); }

static void without_sleep(void (*wait)(void), bool set) {
    int fd[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), 0);
    CHECK_EQ(fin_chan_offer(&b, fd[1], NULL), 0);
    CHECK_EQ(fin_chan_take(&a, fd[0], 0), 0);
    if (set) {
        CHECK_EQ(fin_waitset_new(&w), 0);
        CHECK_EQ(fin_waitset_add(w, b, take, NULL), 0);
    }
    turns = result = 0;
    fin_stats_clear();
    wait();
    CHECK_EQ(result, SIZE);
    CHECK_EQ(turns, 1 + looks_on);
    struct fin_stats s;
    fin_stats(&s);
    CHECK_EQ(s.slept, 0);
    close_both();
    if (set)
        fin_waitset_close(w);
}

int main(void) {
    alarm(10); // who slept would wait for ever
    for (int i = 0; i < 2; i++, looks_on = true) {
        without_sleep(by_recv, false);
        without_sleep(by_recv_on, false);
        without_sleep(by_send_recv_on, false);
        without_sleep(by_dispatch, true);
        without_sleep(by_dispatch_on, true);
    }
    return 0;
}

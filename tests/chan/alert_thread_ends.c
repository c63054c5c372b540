// SPDX-License-Identifier: BSD-2-Clause
// A thread that ends monitors its waitsets no more: not the thread that has its runtime next, either. What comes is for
// whoever waits in the set by then, also who has waited there all the time.
#include <fin/alert.h>

#include "alert.h"

static unsigned got;
static bool began;

static void take(void *chan) {
    unsigned number;
    CHECK_EQ(fin_chan_try_recv(chan, &number, sizeof number), sizeof number);
    got++;
}

static void open_one(enum kind kind) {
    CHECK_EQ(fin_waitset_new(&w), 0);
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_waitset_add(w, b, take, b), 0);
    got = 0;
}

static void close_one(void) {
    fin_waitset_close(w);
    close_both();
}

static void send_number(void) { CHECK_EQ(fin_chan_send_nc(a, &got, sizeof got), 0); }

static void step(void *unused) { (void)unused; }

static void monitors(void *runtime) {
    CHECK_EQ(fin_waitset_monitor(w), 0);
    __atomic_store_n(&began, true, __ATOMIC_RELAXED);
    fin_alert_enable();
    fin_alert_disable();
    fin_monitored_step(step, NULL); // its lines are looked at
    *(struct fin_thread **)runtime = fin_self;
}

static struct fin_thread *runtime;

// It has the runtime, and may monitor the set itself.
static void next(void *before) {
    CHECK(fin_thread_here_() == before);
    CHECK(!fin_waitset_is_monitored(w));
    send_number();
    CHECK_EQ(fin_waitset_dispatch_nonblock(w), 0);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    send_number();
    CHECK_EQ(fin_waitset_dispatch_monitored_nc(w), 0);
    CHECK_EQ(got, 2);
}

static void run(void (*fn)(void *), void *arg) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, fn, arg), 0);
    fin_thread_join_nc(&t);
}

static void one_after_the_other(enum kind kind) {
    open_one(kind);
    run(monitors, &runtime);
    run(next, runtime);
    send_number();
    CHECK_EQ(fin_waitset_dispatch_nc(w), 0);
    CHECK_EQ(got, 3);
    close_one();
}

// The set is closed meanwhile.
static void closes(void *set) { fin_waitset_close(set); }

static void closed_meanwhile(void) {
    for (int i = 0; i < 100; i++) {
        struct fin_thread_handle t, c;
        open_one(PAIR);
        began = false;
        CHECK_EQ(fin_thread_start(&t, monitors, &runtime), 0);
        while (!__atomic_exchange_n(&began, false, __ATOMIC_RELAXED))
            sched_yield();
        CHECK_EQ(fin_thread_start(&c, closes, w), 0);
        fin_thread_join_nc(&t);
        fin_thread_join_nc(&c);
        close_both();
    }
}

// It waits there while the other monitors the set and ends: nobody tells it any more of the sockets but the kernel.
static void goes_on_waiting(void *unused) {
    (void)unused;
    CHECK_EQ(fin_waitset_dispatch_nc(w), 0);
    CHECK_EQ(got, 1);
}

static void waits_all_the_time(enum kind kind) {
    struct fin_thread_handle t;
    open_one(kind);
    CHECK_EQ(fin_thread_start(&t, goes_on_waiting, NULL), 0);
    run(monitors, &runtime);
    send_number();
    fin_thread_join_nc(&t);
    close_one();
}

int main(void) {
    fin_finish {} // this thread has a runtime from here on
    needs_signals();
    for (enum kind kind = PAIR; kind < KINDS; kind++) {
        one_after_the_other(kind);
        waits_all_the_time(kind);
    }
    closed_meanwhile();
    return 0;
}

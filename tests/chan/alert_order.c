// SPDX-License-Identifier: BSD-2-Clause
// What an alert does where: nothing while alerts are disabled, and all of it when they are enabled; the AWE that waits runs
// before all others, and then the computation, which was interrupted. An AWE that an alert runs may compute, and be
// interrupted itself. A thread that sleeps wakes. A signal for nothing changes nothing. And who monitors what, and the
// child of a fork.
#include "alert.h"

static char other[] = "other";

static void send_one(unsigned number) { CHECK_EQ(fin_chan_send_nc(a, &number, sizeof number), 0); }

static void log_and_take(void *chan) {
    handle(chan);
    LOG("got%u ", handled - 1);
}



static void disabled_then_enabled(enum kind kind) {
    handled = 0;
    check_log[0] = 0;
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, log_and_take, b), 0);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        fin_async {
            fin_yield();
            LOG("%s ", other);
        };
        CHECK(!fin_alert_disable());
        send_one(0);
        LOG("sent ");
        fin_alert_enable();
        CHECK(fin_alert_disable());
        CHECK(!fin_alert_disable());
        LOG("computed ");
        raise(SIGURG);
        fin_alert_enable();
        raise(SIGURG);
        CHECK(fin_alert_disable());
        LOG("yields ");
        fin_yield();
        fin_cancel_as(all);
    }
    CHECK_LOG("sent got0 computed yields other ");
    fin_waitset_close(w);
    close_both();
}

static void sleeps_until_woken(enum kind kind) {
    handled = 0;
    open_set(kind, 1);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        for (unsigned i = 0; i < few(100); i++) {
            CHECK_EQ(fin_sleep(i % 3 * 1000), 0);
            send_one(i);
            while (handled <= i)
                CHECK_EQ(fin_sleep(100000), 0);
        }
        fin_cancel_as(all);
    }
    fin_waitset_close(w);
    close_both();
}

// While somebody sleeps as the leader, as a follower of an alert, and again as the leader.
static void monitored_and_polled(enum kind kind) {
    handled = 0;
    open_set(kind, 1);
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        for (unsigned i = 0; i < 20; i++) {
            CHECK_EQ(fin_sleep(i % 3 * 10000), 0);
            if (i % 4 == 1)
                CHECK_EQ(fin_waitset_monitor(w), 0);
            else if (i % 4 == 3)
                fin_waitset_poll(w);
            CHECK_EQ(fin_sleep(i % 2 * 10000), 0);
            send_one(i);
            while (handled <= i)
                CHECK_EQ(fin_sleep(10000), 0);
        }
        fin_cancel_as(all);
    }
    fin_waitset_close(w);
    close_both();
}

// Each of these computes until the next has interrupted it and is done.
enum { DEEP = 4 };
static struct fin_waitset *set[DEEP];
static struct fin_waitset_source source[DEEP];
static unsigned volatile in, out;
static unsigned level[DEEP] = {0, 1, 2, 3}, rounds;

static void compute_inside(void *my_level) {
    unsigned me = *(unsigned *)my_level, seen = out;
    in++;
    if (me < DEEP - 1) {
        fin_alert_enable();
        while (out - seen < DEEP - 1 - me) {
        }
        CHECK(fin_alert_disable());
    }
    CHECK_EQ(out % DEEP, DEEP - 1 - me); // the last one first
    out++;
}

static void serve_one(void *of) {
    while (fin_waitset_dispatch_monitored(of) == 0) {
    }
}

static void trigger_all(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < rounds * DEEP; i++) {
        fin_waitset_trigger(&source[i % DEEP]);
        while (in <= i || (i % DEEP == DEEP - 1 && out <= i))
            CHECK_EQ(fin_sleep(10000), 0);
    }
}

static void nested(void) {
    struct fin_thread_handle t;
    rounds = few(40);
    for (int i = 0; i < DEEP; i++) {
        CHECK_EQ(fin_waitset_new(&set[i]), 0);
        CHECK_EQ(fin_waitset_add_source(set[i], &source[i], compute_inside, &level[i]), 0);
        CHECK_EQ(fin_waitset_monitor(set[i]), 0);
    }
    fin_finish_as(all) {
        for (int i = 0; i < DEEP; i++)
            fin_async_call(serve_one, set[i]);
        CHECK_EQ(fin_thread_start(&t, trigger_all, NULL), 0);
        fin_alert_enable();
        while (out < rounds * DEEP) {
        }
        CHECK(fin_alert_disable());
        fin_cancel_as(all);
    }
    fin_thread_join_nc(&t);
    for (int i = 0; i < DEEP; i++)
        fin_waitset_close(set[i]);
}

static void monitor_too(void *unused) {
    (void)unused;
    CHECK_EQ(fin_waitset_monitor(w), -EBUSY);
}

static void whose(void) {
    struct fin_thread_handle t;
    handled = 0;
    open_set(SOCKET, 1);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    CHECK_EQ(fin_thread_start(&t, monitor_too, NULL), 0);
    fin_thread_join_nc(&t);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) { // computes alone: what comes is its parent's
        fin_alert_enable();
        raise(SIGURG);
        CHECK(fin_alert_disable());
        _exit(handled != 0);
    }
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        send_one(0);
        fin_alert_enable();
        while (!handled) {
        }
        fin_alert_disable();
        fin_cancel_as(all);
    }
    ended_well(pid);
    fin_waitset_close(w);
    close_both();
}

int main(void) {
    needs_signals();
    for (enum kind kind = 0; kind < KINDS; kind++) {
        disabled_then_enabled(kind);
        sleeps_until_woken(kind);
        monitored_and_polled(kind);
    }
    nested();
    whose();
    return 0;
}

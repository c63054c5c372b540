// SPDX-License-Identifier: BSD-2-Clause
// Messages of another thread interrupt a computation that calls nothing, from each kind of channel; between two of its
// instructions, so that its registers are its own; and while it blocks in the kernel.
#include "alert.h"

enum { CHANNELS = 10 };
static struct fin_chan *from[CHANNELS];
static unsigned messages;

static void send_now_and_then(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < messages; i++) {
        while (handled < i)
            CHECK_EQ(fin_sleep(10000), 0);
        CHECK_EQ(fin_chan_send(from[i % CHANNELS], &i, sizeof i), 0);
    }
}

// What compilers keep in registers over a loop that calls nothing.
static void compute_with_registers(unsigned count) {
    uint64_t a0 = 1, a1 = 2, a2 = 3, a3 = 4, rounds = 0;
    double x = 1, y = 2;
    fin_alert_enable();
    while (handled < count || rounds < 1000) {
        a0 += 3, a1 += 5, a2 += 7, a3 += 11, x += 1, y += 2, rounds++;
        __asm__ volatile("" : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3));
    }
    fin_alert_disable();
    CHECK_EQ(a0, 1 + 3 * rounds);
    CHECK_EQ(a1, 2 + 5 * rounds);
    CHECK_EQ(a2, 3 + 7 * rounds);
    CHECK_EQ(a3, 4 + 11 * rounds);
    CHECK(x == 1 + (double)rounds && y == 2 + 2 * (double)rounds);
}

static void one(enum kind kind) {
    struct fin_thread_handle sender;
    struct fin_chan *to[CHANNELS];
    handled = 0;
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK(!fin_waitset_is_monitored(w));
    for (int i = 0; i < CHANNELS; i++) {
        open_kind(kind, 4096, 0);
        from[i] = a;
        to[i] = b;
        CHECK_EQ(fin_waitset_add(w, b, handle, b), 0);
        if (i == CHANNELS / 2)
            CHECK_EQ(fin_waitset_monitor(w), 0);
    }
    CHECK(fin_waitset_is_monitored(w));
    CHECK_EQ(fin_thread_start(&sender, send_now_and_then, NULL), 0);
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        compute_with_registers(messages);
        fin_cancel_as(all);
    }
    fin_thread_join_nc(&sender);
    fin_waitset_poll(w);
    CHECK(!fin_waitset_is_monitored(w));
    fin_waitset_close(w);
    for (int i = 0; i < CHANNELS; i++) {
        CHECK_EQ(fin_chan_close(from[i]), 0);
        CHECK_EQ(fin_chan_close(to[i]), 0);
    }
}

static int ends[2];

static void send_then_write(void *unused) {
    (void)unused;
    unsigned n = 0;
    CHECK_EQ(fin_sleep(2000000), 0);
    CHECK_EQ(fin_chan_send(a, &n, sizeof n), 0);
    while (handled == 0)
        CHECK_EQ(fin_sleep(10000), 0);
    CHECK_EQ(write(ends[1], "x", 1), 1);
}

// The read is not cut short.
static void in_the_kernel(enum kind kind) {
    struct fin_thread_handle sender;
    char p;
    handled = 0;
    CHECK_EQ(pipe(ends), 0);
    open_set(kind, 1);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    CHECK_EQ(fin_thread_start(&sender, send_then_write, NULL), 0);
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        fin_alert_enable();
        ssize_t n = read(ends[0], &p, 1);
        fin_alert_disable();
        CHECK_EQ(n, 1);
        CHECK_EQ(handled, 1);
        fin_cancel_as(all);
    }
    fin_thread_join_nc(&sender);
    fin_waitset_close(w);
    close_both();
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    needs_signals();
    messages = few(60);
    for (enum kind kind = PAIR; kind < KINDS; kind++) {
        one(kind);
        in_the_kernel(kind);
    }
    return 0;
}

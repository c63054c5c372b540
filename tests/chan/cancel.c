// SPDX-License-Identifier: BSD-2-Clause
// Exact cancellation: a send or receive that was cancelled did nothing, one that was not did its work. Both race with
// cancels thousands of times; what arrived is exactly what was sent.
#include "chan.h"

enum { MOST = 1500 };

static unsigned seed = 3, sent, received, cancelled;

static size_t size_of(unsigned number) { return number % 3 ? 8 : number % 2 ? 300 : MOST; }

static void pause_a_little(void) { pause_a_while(&seed, 120, 8); }

static void send_one(void *unused) {
    (void)unused;
    unsigned char p[MOST];
    size_t size = size_of(sent);
    fill(p, size, sent);
    int r = fin_chan_send(a, p, size);
    CHECK(r == 0 || r == -ECANCELED);
    sent += r == 0;
    cancelled += r != 0;
}

static void receive_one(void *unused) {
    (void)unused;
    unsigned char p[MOST];
    ssize_t n = fin_chan_recv(b, p, sizeof p);
    if (n == -ECANCELED) {
        cancelled++;
        return;
    }
    CHECK_EQ(n, size_of(received));
    CHECK(filled(p, (size_t)n, received));
    received++;
}

static void rounds(unsigned count, bool sending, bool receiving) {
    for (unsigned i = 0; i < count; i++) {
        fin_finish {
            if (sending)
                fin_async_call(send_one, NULL);
            pause_a_little();
            if (receiving)
                fin_async_call(receive_one, NULL);
            pause_a_little();
            fin_cancel();
        }
    }
}

int main(void) {
    unsigned char p[MOST];
    for (enum kind kind = 0; kind < KINDS; kind++) {
        sent = received = cancelled = 0;
        open_kind(kind, 4096, 0);
        fin_finish {
            fin_cancel();
            CHECK_EQ(fin_chan_send(a, p, 8), -ECANCELED);
            CHECK_EQ(fin_chan_recv(b, p, 8), -ECANCELED);
            CHECK_EQ(fin_chan_send_nc(a, p, 8), 0);
            CHECK_EQ(fin_chan_recv_nc(b, p, 8), 8);
        }
        rounds(few(300), false, true);
        CHECK_EQ(cancelled, few(300));
        for (int i = 0; i < 20; i++) {
            rounds(few(100), true, false); // until it is full, and then waits
            rounds(few(100), true, true);
            rounds(few(150), false, true);
        }
        while (received < sent)
            receive_one(NULL);
        CHECK_EQ(fin_chan_try_recv(b, p, sizeof p), -EAGAIN);
        close_both();
    }
    return 0;
}

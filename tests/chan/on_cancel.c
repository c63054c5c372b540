// SPDX-License-Identifier: BSD-2-Clause
// Exact cancellation of waits with a continuation: a send or receive that was cancelled did nothing, one that was not did
// its work. Both race with cancels, also with those of AWEs with stacks; what arrived is what was sent, each message once.
#include "chan.h"

enum { SIZE = 1500, MOST = 4096 };

static unsigned seed = 3, sent, received, cancelled;
static struct fin_chan_on sending, receiving;
static unsigned char out[SIZE], in[SIZE];
static bool seen[MOST]; // of two that receive the second may run first

static size_t size_of(unsigned number) { return number % 3 ? 8 : number % 2 ? 300 : SIZE; }

static void pause_a_little(void) { pause_a_while(&seed, 120, 8); }

static void has_sent(void *state, int r) {
    (void)state;
    CHECK(r == 0 || r == -ECANCELED);
    sent += r == 0;
    cancelled += r != 0;
    fin_cont_end();
}

static void send_one(void *unused) {
    size_t size = size_of(sent);
    CHECK(sent < MOST);
    fill(out, size, sent);
    memcpy(out, &sent, sizeof sent);
    fin_chan_send_on(a, out, size, &sending, has_sent, unused, 0);
}

static void has(ssize_t n, const unsigned char *p) {
    if (n == -ECANCELED) {
        cancelled++;
        return;
    }
    unsigned number;
    memcpy(&number, p, sizeof number);
    CHECK(number <= received + 1 && !seen[number]);
    CHECK_EQ(n, size_of(number));
    CHECK_EQ(p[n - 1], (unsigned char)(number * 31 + (size_t)(n - 1) * 7));
    seen[number] = true;
    received++;
}

static void has_received(void *state, int n) {
    (void)state;
    has(n, in);
    fin_cont_end();
}

static void receive_one(void *unused) { fin_chan_recv_on(b, in, sizeof in, &receiving, has_received, unused, 0); }

static void receive_with_stack(void *unused) {
    (void)unused;
    unsigned char p[SIZE];
    has(fin_chan_recv(b, p, sizeof p), p);
}

static void rounds(unsigned count, bool sends, bool receives) {
    for (unsigned i = 0; i < count; i++) {
        fin_finish {
            if (sends)
                fin_async_call(send_one, NULL);
            pause_a_little();
            if (receives)
                fin_async_call(receive_one, NULL);
            if (receives && i % 4 == 0)
                fin_async_call(receive_with_stack, NULL);
            pause_a_little();
            fin_cancel();
        }
    }
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        sent = received = cancelled = 0;
        memset(seen, 0, sizeof seen);
        open_kind(kind, 4096, 0);
        rounds(few(100), false, true);
        CHECK(received == 0 && cancelled > 0);
        for (int i = 0; i < 6; i++) {
            rounds(few(60), true, false); // until it is full, and then waits
            rounds(few(60), true, true);
            rounds(few(80), false, true);
        }
        CHECK(sent > 0 && received > 0);
        while (received < sent)
            receive_with_stack(NULL);
        CHECK_EQ(fin_chan_try_recv(b, in, sizeof in), -EAGAIN);
        close_both();
    }
    return 0;
}

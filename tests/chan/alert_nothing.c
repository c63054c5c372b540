// SPDX-License-Identifier: BSD-2-Clause
// An alert for nothing: somebody else has received the message. The AWE that it woke waits in the set again, so that the
// next message interrupts the computation; it does not wait for a turn that a computation never gives.
#include "alert.h"

static struct fin_chan *from;
static unsigned wanted, sent;

static void sends(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 2; i++) {
        while (__atomic_load_n(&wanted, __ATOMIC_ACQUIRE) <= i)
            fin_sleep(10000);
        CHECK_EQ(fin_chan_send(from, &(unsigned){0}, sizeof(unsigned)), 0);
        __atomic_store_n(&sent, i + 1, __ATOMIC_RELEASE);
    }
}

static void want(unsigned count) { __atomic_store_n(&wanted, count, __ATOMIC_RELEASE); }

static void scenes(void) {
    unsigned number;
    want(1);
    while (__atomic_load_n(&sent, __ATOMIC_ACQUIRE) < 1) {
    }
    CHECK_EQ(fin_chan_try_recv(b, &number, sizeof number), sizeof number);
    fin_alert_enable(); // it is handled
    fin_alert_disable();
    CHECK_EQ(handled, 0);
    want(2);
    compute_until(1);
}

int main(void) {
    needs_signals();
    open_set(PAIR, 1);
    from = a;
    beside_sender(sends, scenes);
    return 0;
}

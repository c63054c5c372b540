// SPDX-License-Identifier: BSD-2-Clause
// Waits for events that are cancelled, at random moments: -ECANCELED has taken no event, 0 has called the handler once. What
// one dispatcher leaves behind, another gets: none sleeps on an event.
#include "chan.h"

enum { AWES = 8 };
static struct fin_waitset *w;
static unsigned sent, handled, returned, cancels, rounds;

static void handle(void *unused) {
    (void)unused;
    unsigned number;
    CHECK_EQ(fin_chan_recv_nc(b, &number, sizeof number), sizeof number);
    CHECK_EQ(number, handled);
    handled++;
    if (number % 3 == 0)
        fin_yield();
}

static void waits(void *unused) {
    (void)unused;
    int r = fin_waitset_dispatch(w);
    returned += r == 0;
    cancels += r == -ECANCELED;
    CHECK(r == 0 || r == -ECANCELED);
}

static void for_ever(void *unused) {
    (void)unused;
    while (fin_waitset_dispatch(w) == 0)
        returned++;
    cancels++;
}

static void send_one(void) {
    CHECK_EQ(fin_chan_send_nc(a, &sent, sizeof sent), 0);
    sent++;
}

static void round_of(unsigned *seed) {
    fin_finish_as(all) {
        for (int i = 0; i < AWES; i++) {
            if (next_random(seed) % 4)
                fin_async_call(waits, NULL);
            else
                fin_async_call(for_ever, NULL);
        }
        for (unsigned n = next_random(seed) % 4; n; n--)
            fin_yield();
        if (next_random(seed) % 8 == 0)
            CHECK_EQ(fin_sleep(20000), 0);
        for (unsigned n = next_random(seed) % AWES; n; n--)
            send_one();
        for (unsigned n = next_random(seed) % 4; n; n--)
            fin_yield();
        if (next_random(seed) % 8 == 0)
            CHECK_EQ(fin_sleep(20000), 0);
        fin_cancel_as(all);
    }
    CHECK_EQ(handled, returned);
    while (fin_waitset_dispatch_nonblock(w) == 0)
        returned++;
    CHECK_EQ(handled, sent);
}

// One of two is cancelled: the other gets the event, whichever slept in the kernel.
static void other_goes_on(bool first) {
    unsigned before = handled;
    fin_finish {
        fin_finish_as(one) {
            fin_async {
                fin_finish_as(two) {
                    if (first)
                        fin_async_call(waits, NULL);
                    fin_async {
                        CHECK_EQ(fin_sleep(1000000), 0);
                        fin_cancel_as(two);
                    };
                    if (!first)
                        fin_async_call(waits, NULL);
                }
                send_one();
            };
            fin_async_call(waits, NULL);
        }
    }
    CHECK_EQ(handled, before + 1);
}

int main(void) {
    unsigned seed = 3;
    rounds = few(1000);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        sent = handled = returned = 0;
        open_kind(kind, 0, 0);
        CHECK_EQ(fin_waitset_new(&w), 0);
        CHECK_EQ(fin_waitset_add(w, b, handle, NULL), 0);
        for (unsigned i = 0; i < rounds; i++)
            round_of(&seed);
        other_goes_on(true);
        other_goes_on(false);
        fin_finish_as(all) {
            fin_cancel_as(all);
            send_one();
            CHECK_EQ(fin_waitset_dispatch(w), -ECANCELED);
            CHECK_EQ(fin_waitset_dispatch_nc(w), 0);
            send_one();
            CHECK_EQ(fin_waitset_dispatch_nonblock(w), 0);
        }
        close_both();
        fin_waitset_close(w);
    }
    CHECK(cancels > 0);
    return 0;
}

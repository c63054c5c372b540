// SPDX-License-Identifier: BSD-2-Clause
// The turn at an end for several is nobody's from when it is given back until the first who waited for it comes: somebody
// may be before him, but not for ever; nobody closes the end meanwhile; and a cancel of any of them loses no other.
#include "chan.h"

enum { SENDERS = 3, IN_VAIN = 4 };
static int sent_result[2];
static void *room;
static unsigned each;
static unsigned was_sent[SENDERS], received[SENDERS];

static void sends(void *number) {
    unsigned n = (unsigned)(uintptr_t)number;
    sent_result[n] = fin_chan_send(a, &n, sizeof n);
}

static void expect(unsigned number) {
    unsigned n;
    CHECK_EQ(fin_chan_try_recv(b, &n, sizeof n), (int)sizeof n);
    CHECK_EQ(n, number);
}

static void somebody_before_him(void) {
    unsigned two = 2;
    fin_finish {
        CHECK_EQ(fin_chan_reserve(a, sizeof two, &room), 0);
        fin_async_call(sends, (void *)1);
        fin_chan_abandon(a);
        CHECK_EQ(fin_chan_close(a), -EBUSY);
        CHECK_EQ(fin_chan_try_send(a, &two, sizeof two), 0);
    }
    CHECK_EQ(sent_result[1], 0);
    expect(2);
    expect(1);
}

static void not_for_ever(void) {
    fin_finish {
        CHECK_EQ(fin_chan_reserve(a, 4, &room), 0);
        fin_async_call(sends, (void *)1);
        for (int i = 0; i < IN_VAIN; i++) {
            fin_chan_abandon(a);
            CHECK_EQ(fin_chan_reserve(a, 4, &room), 0);
            fin_yield(); // he comes in vain
        }
        fin_chan_abandon(a);
        CHECK_EQ(fin_chan_try_send(a, NULL, 0), -EAGAIN); // it is his now
    }
    expect(1);
}

static void first_is_first(void) {
    fin_finish {
        CHECK_EQ(fin_chan_reserve(a, 4, &room), 0);
        fin_async_call(sends, (void *)0);
        fin_async_call(sends, (void *)1);
        fin_chan_abandon(a);
        CHECK_EQ(fin_chan_reserve(a, 4, &room), 0);
        fin_yield(); // the first comes in vain
        fin_chan_abandon(a);
    }
    expect(0);
    expect(1);
}

static bool cancel_now;

static void sends_until_cancelled(void *number) {
    fin_finish_as(it) {
        fin_async_call(sends, number);
        while (!cancel_now)
            fin_yield();
        fin_cancel_as(it);
    }
}

// The first is told that the turn is nobody's, and is cancelled before he comes.
static void cancelled(bool in_vain) {
    cancel_now = false;
    fin_finish {
        CHECK_EQ(fin_chan_reserve(a, 4, &room), 0);
        fin_async_call(sends_until_cancelled, (void *)0);
        fin_async_call(sends, (void *)1);
        fin_chan_abandon(a);
        if (in_vain)
            CHECK_EQ(fin_chan_reserve(a, 4, &room), 0);
        cancel_now = true;
        fin_yield();
        fin_yield();
        if (in_vain)
            fin_chan_abandon(a);
    }
    CHECK_EQ(sent_result[0], in_vain ? -ECANCELED : 0);
    if (!in_vain)
        expect(0);
    CHECK_EQ(sent_result[1], 0);
    expect(1);
}

// ---- the same with threads, and a ring that is mostly full

static int send_or_reserve(const unsigned *p, size_t size, bool in_place) {
    void *at;
    if (!in_place)
        return fin_chan_send(a, p, size);
    int r = fin_chan_reserve(a, size, &at);
    if (r == 0) {
        memcpy(at, p, size);
        r = fin_chan_commit(a, size);
    }
    return r;
}

static void sender(void *number) {
    unsigned me = (unsigned)(uintptr_t)number, random = me + 1;
    for (unsigned i = 0; i < each; i++) {
        unsigned p[100] = {me, i}, dice = next_random(&random);
        int r = 0;
        fin_timeout(dice % 64 * 1000) {
            r = send_or_reserve(p, dice % 4 ? 8 : sizeof p, dice % 7 == 0);
        }
        CHECK(r == 0 || r == -ECANCELED);
        was_sent[me] += r == 0;
    }
}

static void receiver(void *unused) {
    unsigned p[100], next[SENDERS] = {0};
    (void)unused;
    while (fin_chan_recv_nc(b, p, sizeof p) >= 8) {
        CHECK(p[0] < SENDERS && p[1] >= next[p[0]]);
        next[p[0]] = p[1] + 1;
        received[p[0]]++;
    }
}

static void threads(void) {
    struct fin_thread_handle s[SENDERS], r;
    CHECK_EQ(fin_thread_start(&r, receiver, NULL), 0);
    for (uintptr_t i = 0; i < SENDERS; i++)
        CHECK_EQ(fin_thread_start(&s[i], sender, (void *)i), 0);
    for (int i = 0; i < SENDERS; i++)
        CHECK_EQ(fin_thread_join(&s[i]), 0);
    CHECK_EQ(fin_chan_send(a, NULL, 0), 0);
    CHECK_EQ(fin_thread_join(&r), 0);
    for (int i = 0; i < SENDERS; i++)
        CHECK_EQ(received[i], was_sent[i]);
}

int main(void) {
    each = few(3000);
    open_kind(PAIR, 4096, FIN_CHAN_SHARED);
    somebody_before_him();
    not_for_ever();
    first_is_first();
    cancelled(false);
    cancelled(true);
    threads();
    close_both();
    return 0;
}

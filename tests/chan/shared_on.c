// SPDX-License-Identifier: BSD-2-Clause
// Threads that receive with a continuation, beside threads that receive with a stack, at one end that all share: each
// message arrives once, and all are told of the end. (Under TSan: nobody looks at what another one's turn writes.)
#include <fin/chan_on.h>

#include "chan.h"

enum { RECEIVERS = 2 };
static unsigned each, total;

struct waiter {
    struct fin_chan_on on;
    unsigned number;
};

static void next(void *state, int n) {
    struct waiter *w = *(struct waiter **)state;
    if (n == -ESHUTDOWN)
        fin_cont_end();
    if (n != -EAGAIN) {
        CHECK_EQ(n, sizeof w->number);
        __atomic_add_fetch(&total, 1, __ATOMIC_RELAXED);
    }
    CHECK_EQ(fin_chan_recv_on(b, &w->number, sizeof w->number, &w->on, next, &w, sizeof w), 0);
}

static void first(void *state, int unused) {
    (void)unused;
    next(state, -EAGAIN);
}

static void receive_on(void *unused) {
    struct waiter w, *state = &w;
    (void)unused;
    fin_finish
        fin_async_cont(first, &state, sizeof state);
}

static void receive(void *unused) {
    unsigned number;
    ssize_t n;
    (void)unused;
    for (unsigned turn = 0;; turn++) {
        n = turn % 2 ? fin_chan_recv(b, &number, sizeof number) : fin_chan_try_recv(b, &number, sizeof number);
        if (n == -ESHUTDOWN)
            return;
        if (n == -EAGAIN) {
            fin_yield();
            continue;
        }
        CHECK_EQ(n, sizeof number);
        __atomic_add_fetch(&total, 1, __ATOMIC_RELAXED);
    }
}

static void run(enum kind kind) {
    struct fin_thread_handle on[RECEIVERS], plain[RECEIVERS];
    total = 0;
    open_kind(kind, 4096, FIN_CHAN_SHARED);
    for (int i = 0; i < RECEIVERS; i++) {
        CHECK_EQ(fin_thread_start(&on[i], receive_on, NULL), 0);
        CHECK_EQ(fin_thread_start(&plain[i], receive, NULL), 0);
    }
    for (unsigned i = 0; i < each; i++)
        CHECK_EQ(fin_chan_send(a, &i, sizeof i), 0);
    CHECK_EQ(fin_chan_close(a), 0);
    for (int i = 0; i < RECEIVERS; i++) {
        CHECK_EQ(fin_thread_join(&on[i]), 0);
        CHECK_EQ(fin_thread_join(&plain[i]), 0);
    }
    CHECK_EQ(total, each);
    CHECK_EQ(fin_chan_close(b), 0);
}

int main(void) {
    each = few(20000);
    for (enum kind kind = PAIR; kind < KINDS; kind++)
        run(kind);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Threads dispatch two sets while others send, and channels move between the sets, by themselves and by another thread: each
// message is handled once, in order, no two handlers of a channel run at a time, and none is forgotten.
#include "chan.h"

enum { CHANNELS = 12, DISPATCHERS = 3, SENDERS = 2 };
static struct end {
    struct fin_chan *from, *to;
    unsigned sent, received, inside;
} ends[CHANNELS];
static struct fin_waitset *sets[2];
static unsigned each, left;

static void handle(void *end) {
    struct end *e = end;
    unsigned number;
    CHECK_EQ(__atomic_exchange_n(&e->inside, 1, __ATOMIC_RELAXED), 0);
    CHECK_EQ(fin_chan_try_recv(e->to, &number, sizeof number), sizeof number);
    CHECK_EQ(number, e->received);
    e->received++;
    if (number % 16 == 0)
        fin_yield();
    if (number % 64 == 5)
        CHECK_EQ(fin_waitset_move(sets[number / 64 % 2], e->to), 0);
    CHECK_EQ(__atomic_exchange_n(&e->inside, 0, __ATOMIC_RELAXED), 1);
    __atomic_sub_fetch(&left, 1, __ATOMIC_ACQ_REL);
}

static void dispatch_all(void *set) {
    int r;
    while ((r = fin_waitset_dispatch(set)) == 0) {
    }
    CHECK_EQ(r, -ESHUTDOWN);
}

static void dispatches(void *number) {
    fin_finish {
        for (unsigned i = 0; i < 4; i++)
            fin_async_call(dispatch_all, sets[((uintptr_t)number + i) % 2]);
    }
}

static void sends(void *number) {
    unsigned seed = (unsigned)(uintptr_t)number + 7;
    for (unsigned i = 0; i < each; i++)
        for (struct end *e = ends + (uintptr_t)number; e < ends + CHANNELS; e += SENDERS) {
            CHECK_EQ(fin_chan_send(e->from, &e->sent, sizeof e->sent), 0);
            e->sent++;
            if (next_random(&seed) % 64 == 0)
                CHECK_EQ(fin_sleep(next_random(&seed) % 100000), 0);
        }
}

static void moves(void *unused) {
    (void)unused;
    unsigned seed = 5;
    while (__atomic_load_n(&left, __ATOMIC_ACQUIRE)) {
        CHECK_EQ(fin_waitset_move(sets[next_random(&seed) % 2], ends[next_random(&seed) % CHANNELS].to), 0);
        CHECK_EQ(fin_sleep(20000), 0);
    }
}

int main(void) {
    struct fin_thread_handle dispatcher[DISPATCHERS], sender[SENDERS], mover;
    each = few(1500);
    left = each * CHANNELS;
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fin_waitset_new(&sets[i]), 0);
    for (unsigned i = 0; i < CHANNELS; i++) {
        open_kind(i % 2 ? PAIR : SOCKET, 4096, i % 3 ? 0 : FIN_CHAN_SHARED);
        ends[i] = (struct end){.from = a, .to = b};
        CHECK_EQ(fin_waitset_add(sets[i % 2], b, handle, &ends[i]), 0);
    }
    for (uintptr_t i = 0; i < DISPATCHERS; i++)
        CHECK_EQ(fin_thread_start(&dispatcher[i], dispatches, (void *)i), 0);
    for (uintptr_t i = 0; i < SENDERS; i++)
        CHECK_EQ(fin_thread_start(&sender[i], sends, (void *)i), 0);
    CHECK_EQ(fin_thread_start(&mover, moves, NULL), 0);
    fin_finish {
        for (int i = 0; i < SENDERS; i++)
            fin_thread_join_nc(&sender[i]);
        fin_thread_join_nc(&mover);
        for (int i = 0; i < 2; i++)
            fin_waitset_shutdown(sets[i]);
        for (int i = 0; i < DISPATCHERS; i++)
            fin_thread_join_nc(&dispatcher[i]);
        for (int i = 0; i < 2; i++)
            fin_waitset_close(sets[i]);
    }
    for (struct end *e = ends; e < ends + CHANNELS; e++) {
        CHECK_EQ(e->received, each);
        CHECK_EQ(fin_chan_close(e->from), 0);
        CHECK_EQ(fin_chan_close(e->to), 0);
    }
    return 0;
}

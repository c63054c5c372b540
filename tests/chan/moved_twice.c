// SPDX-License-Identifier: BSD-2-Clause
// A channel is moved on, by another thread, while its handler returns: who called that looks whether the channel has been
// moved, with the latch of a set that this move has nothing to do with. (For TSan.)
#include "chan.h"

enum { SETS = 3 };
static struct fin_waitset *sets[SETS];
static struct fin_event begun, moved;
static int handled;

static void handle(void *unused) {
    char byte;
    (void)unused;
    CHECK_EQ(fin_chan_try_recv(b, &byte, 1), 1);
    fin_event_advance(&begun, 1);
    if (!handled++)
        fin_event_await_nc(&moved, 1);
}

static void moves(void *unused) {
    (void)unused;
    fin_event_await_nc(&begun, 1);
    CHECK_EQ(fin_waitset_move(sets[1], b), 0);
    fin_event_advance(&moved, 1);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(fin_waitset_move(sets[2 - i % 2], b), 0);
}

static void moved_on(enum kind kind) {
    struct fin_thread_handle mover;
    open_kind(kind, 4096, 0);
    fin_event_init(&begun);
    fin_event_init(&moved);
    handled = 0;
    for (int i = 0; i < SETS; i++)
        CHECK_EQ(fin_waitset_new(&sets[i]), 0);
    CHECK_EQ(fin_waitset_add(sets[0], b, handle, NULL), 0);
    CHECK_EQ(fin_thread_start(&mover, moves, NULL), 0);
    CHECK_EQ(fin_chan_send(a, "x", 1), 0);
    CHECK_EQ(fin_waitset_dispatch(sets[0]), 0);
    fin_thread_join_nc(&mover);
    CHECK_EQ(fin_chan_send(a, "x", 1), 0);
    CHECK_EQ(fin_waitset_check(sets[0]), -EAGAIN);
    CHECK_EQ(fin_waitset_check(sets[2]), -EAGAIN);
    CHECK_EQ(fin_waitset_dispatch(sets[1]), 0);
    CHECK_EQ(handled, 2);
    for (int i = 0; i < SETS; i++)
        fin_waitset_close(sets[i]);
    close_both();
}

int main(void) {
    alarm(60);
    for (int i = 0; i < 10; i++)
        for (int kind = PAIR; kind < KINDS; kind++)
            moved_on((enum kind)kind);
    return 0;
}

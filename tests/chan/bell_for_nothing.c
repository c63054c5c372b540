// SPDX-License-Identifier: BSD-2-Clause
// A bell that no message is behind, for who sleeps in a waitset: the sender rings once for a number, so it must get another
// one, or the message that follows is told to nobody. (waitset_skips.c has the whole.)
#include "chan.h"
#include "chan/chan.h"

static struct fin_waitset *w;
static unsigned handled;

static void handle(void *unused) {
    char p[8];
    (void)unused;
    CHECK_EQ(fin_chan_recv(b, p, sizeof p), 8);
    handled++;
}

static void serves(void *unused) {
    (void)unused;
    CHECK_EQ(fin_waitset_dispatch(w), 0);
}

static uint64_t number(void) { return __atomic_load_n(&b->in.ump.own->armed, __ATOMIC_RELAXED); }

static void one(enum kind kind) {
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, handle, NULL), 0);
    fin_finish {
        fin_async_call(serves, NULL);
        while (number() == 0)
            fin_yield();
        uint64_t first = number();
        fin_ump_ring(&a->out.ump, first);
        while (number() == first || number() == 0)
            fin_yield();
        CHECK_EQ(fin_chan_send(a, "message", 8), 0);
    }
    CHECK_EQ(handled, 1);
    handled = 0;
    fin_waitset_close(w);
    close_both();
}

int main(void) {
    alarm(60);
    one(PAIR);
    one(SOCKET);
    return 0;
}

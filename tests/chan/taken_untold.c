// SPDX-License-Identifier: BSD-2-Clause
// A long message that somebody takes between its header and its sender's look at whether to ring. Now the receiver has had
// many lines, and asks for fences no longer; but for who sleeps in the waitset it stays armed, and he hears of what is next.
#include "chan.h"
#include "chan/chan.h"

enum { LONG = 20 * UMP_LINE };

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

static uint64_t number(void) { return __atomic_load_n(&b->in.ump.own->armed, __ATOMIC_RELAXED) & ~UMP_FENCES; }

// As fin_chan_send does, one after the other.
static void sends_slowly(void) {
    static char bytes[LONG];
    struct ump_tx *tx = &a->out.ump;
    char *line = ump_line(tx->ring, tx->head, tx->lines);
    ump_write_header(tx, line, ump_header(tx, LONG, UMP_MESSAGE), tx->head + ump_lines(LONG));
    CHECK_EQ(fin_chan_try_recv(b, bytes, sizeof bytes), LONG);
    CHECK_EQ(ump_tell(tx), 0);
}

static void one(enum kind kind) {
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, handle, NULL), 0);
    fin_finish {
        fin_async_call(serves, NULL);
        while (number() == 0)
            fin_yield();
        sends_slowly();
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

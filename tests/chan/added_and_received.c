// SPDX-License-Identifier: BSD-2-Clause
// A shared end is put into a waitset while another thread begins to receive there: either it is told that it cannot wait, or
// the waitset is told that somebody waits. (For TSan.)
#include "chan.h"

static struct fin_waitset *w;
static bool over;

static void receives(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        char byte;
        ssize_t n = fin_chan_recv(b, &byte, 1);
        CHECK(n == 1 || n == -EBUSY);
    }
}

static void handle(void *unused) {
    char byte;
    (void)unused;
    ssize_t n = fin_chan_try_recv(b, &byte, 1);
    CHECK(n == 1 || n == -EAGAIN);
}

static void in_turn(enum kind kind) {
    struct fin_thread_handle receiver;
    open_kind(kind, 4096, FIN_CHAN_SHARED);
    CHECK_EQ(fin_waitset_new(&w), 0);
    __atomic_store_n(&over, false, __ATOMIC_RELAXED);
    CHECK_EQ(fin_thread_start(&receiver, receives, NULL), 0);
    for (unsigned i = few(2000); i; i--) {
        int r = fin_waitset_add(w, b, handle, NULL);
        CHECK(r == 0 || r == -EBUSY);
        CHECK_EQ(fin_chan_send(a, "x", 1), 0);
        if (r != 0)
            continue;
        r = fin_waitset_dispatch_nonblock(w);
        CHECK(r == 0 || r == -EAGAIN);
        CHECK_EQ(fin_waitset_remove(w, b), 0);
    }
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    CHECK_EQ(fin_chan_send(a, "x", 1), 0);
    fin_thread_join_nc(&receiver);
    fin_waitset_close(w);
    close_both();
}

int main(void) {
    alarm(60);
    in_turn(PAIR);
    in_turn(SOCKET);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A channel is added to a waitset once more, by another thread than the one that looks for events: that is refused, and
// changes nothing that is looked at. (For TSan.)
#include "chan.h"

static struct fin_waitset *w;
static bool over;

static void handle(void *unused) {
    char byte;
    (void)unused;
    CHECK_EQ(fin_chan_try_recv(b, &byte, 1), 1);
}

static void dispatches(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        int r = fin_waitset_dispatch_nonblock(w);
        CHECK(r == 0 || r == -EAGAIN);
    }
}

int main(void) {
    struct fin_thread_handle thread;
    alarm(60);
    open_kind(PAIR, 4096, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, handle, NULL), 0);
    CHECK_EQ(fin_thread_start(&thread, dispatches, NULL), 0);
    for (unsigned i = few(2000); i; i--) {
        CHECK_EQ(fin_waitset_add(w, b, handle, NULL), -EBUSY);
        CHECK_EQ(fin_chan_send(a, "x", 1), 0);
    }
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    fin_thread_join_nc(&thread);
    fin_waitset_close(w);
    close_both();
    return 0;
}

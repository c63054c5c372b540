// SPDX-License-Identifier: BSD-2-Clause
// The child of a fork closes its copy of a waitset, as destructors do at its exit: the parent's still hears its channels.
#include "chan.h"

static unsigned handled;

static void handle(void *unused) {
    char p[8];
    (void)unused;
    CHECK_EQ(fin_chan_recv(b, p, sizeof p), 8);
    handled++;
}

static void serves(void *w) { CHECK_EQ(fin_waitset_dispatch(w), 0); }

static void closes(void *set) { fin_waitset_close(set); }

int main(void) {
    struct fin_waitset *w;
    alarm(60);
    open_kind(SOCKET, 4096, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, handle, NULL), 0);
    in_a_child(closes, w);
    fin_finish {
        fin_async_call(serves, w);
        CHECK_EQ(fin_sleep_nc(20 * FIN_MS), 0); // it sleeps by now
        CHECK_EQ(fin_chan_send(a, "message", 8), 0);
        fin_timeout(5 * FIN_S) {
            while (handled == 0 && fin_sleep(FIN_MS) == 0)
                continue;
        }
        CHECK_EQ(handled, 1);
    }
    fin_waitset_close(w);
    close_both();
    return 0;
}

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

int main(void) {
    struct fin_waitset *w;
    alarm(60);
    open_kind(SOCKET, 4096, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, handle, NULL), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        fin_waitset_close(w);
        _exit(0);
    }
    ended_well(pid);
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

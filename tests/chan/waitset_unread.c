// SPDX-License-Identifier: BSD-2-Clause
// Descriptors wait in the socket until their messages are taken, and the end of the other side stands behind them: a waitset
// tells of it all the same, however many there are.
#include "chan.h"

static struct fin_waitset *w;
static ssize_t got;

static void receives(void *unused) {
    (void)unused;
    char p;
    got = fin_chan_try_recv(b, &p, 1);
}

static void ends_behind(int messages) {
    int fd = STDERR_FILENO;
    open_kind(SOCKET, 0, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, receives, NULL), 0);
    for (int i = 0; i < messages; i++)
        CHECK_EQ(fin_chan_send_fds(a, "x", 1, &fd, 1), 0);
    CHECK_EQ(fin_chan_close(a), 0);
    for (int i = 0; i < messages; i++) {
        CHECK_EQ(fin_waitset_dispatch(w), 0);
        CHECK_EQ(got, 1);
    }
    CHECK_EQ(fin_waitset_dispatch(w), 0);
    CHECK_EQ(got, -ESHUTDOWN);
    CHECK_EQ(fin_chan_close(b), 0);
    fin_waitset_close(w);
}

int main(void) {
    alarm(60);
    for (int i = 0; i < 6; i++)
        ends_behind(i);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A message with descriptors that somebody receives outside of the handler of its set, in any way, before the set has heard
// of it: what is sent after it is told, though the ring that came with the descriptors has gone with them.
#include "chan.h"

static struct fin_waitset *w;
static unsigned handled;

static void handle(void *chan) {
    char c;
    while (fin_chan_try_recv(chan, &c, 1) == 1)
        handled++;
}

static void try_recv(void) {
    char c;
    CHECK_EQ(fin_chan_try_recv(b, &c, 1), 1);
}

static void try_recv_fds(void) {
    char c;
    int fds[2];
    unsigned count = 2;
    CHECK_EQ(fin_chan_try_recv_fds(b, &c, 1, fds, &count), 1);
    CHECK_EQ(count, 1);
    close(fds[0]);
}

static void peek(void) {
    const void *bytes;
    CHECK_EQ(fin_chan_try_peek(b, &bytes), 1);
    CHECK_EQ(fin_chan_release(b), 0);
}

static void scene(enum kind kind, void (*receives)(void), bool monitored) {
    int fd = 0;
    handled = 0;
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, handle, b), 0);
    if (monitored)
        CHECK_EQ(fin_waitset_monitor(w), 0);
    for (unsigned n = 1; n < 4; n++) {
        fin_timeout(10 * FIN_MS) { // all is armed
            CHECK_EQ(fin_waitset_dispatch_monitored(w), -ECANCELED);
        }
        CHECK_EQ(fin_chan_send_fds(a, "x", 1, &fd, 1), 0);
        receives();
        CHECK_EQ(fin_chan_send(a, "y", 1), 0);
        while (handled < n)
            CHECK_EQ(fin_waitset_dispatch_monitored(w), 0);
    }
    fin_waitset_close(w);
    close_both();
}

int main(void) {
    alarm(50);
    for (enum kind kind = PAIR; kind < KINDS; kind++)
        for (int monitored = 0; monitored < 2; monitored++) {
            scene(kind, try_recv, monitored);
            scene(kind, try_recv_fds, monitored);
            scene(kind, peek, monitored);
        }
    return 0;
}

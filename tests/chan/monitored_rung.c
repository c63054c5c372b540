// SPDX-License-Identifier: BSD-2-Clause
// Messages and ends that came to channels of a set, which have rung for them, while nobody waited in it and it was not
// monitored: who waits in it after it has become so is told of each.
#include "chan.h"

enum { MANY = 100 };

static struct fin_chan *near[MANY], *far[MANY];
static struct fin_waitset *w;
static unsigned messages, ends;

static void handle(void *chan) {
    char c;
    ssize_t n = fin_chan_try_recv(chan, &c, 1);
    while (n == 1) {
        messages++;
        n = fin_chan_try_recv(chan, &c, 1);
    }
    ends += n == -ESHUTDOWN;
    if (n == -ESHUTDOWN)
        fin_waitset_remove(w, chan);
}

static void dispatch_until_quiet(uint64_t ns) {
    fin_timeout(ns) {
        while (fin_waitset_dispatch_monitored(w) == 0) {
        }
    }
}

// All are armed by who waits first.
static void scene(enum kind kind, int count, bool ended) {
    messages = ends = 0;
    CHECK_EQ(fin_waitset_new(&w), 0);
    for (int i = 0; i < count; i++) {
        open_kind(kind, 4096, 0);
        near[i] = a;
        far[i] = b;
        CHECK_EQ(fin_waitset_add(w, far[i], handle, far[i]), 0);
    }
    dispatch_until_quiet(10 * FIN_MS);
    for (int i = 0; i < count; i++)
        CHECK_EQ(ended ? fin_chan_close(near[i]) : fin_chan_send(near[i], "x", 1), 0);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    while (ended ? ends < (unsigned)count : messages < (unsigned)count)
        CHECK_EQ(fin_waitset_dispatch_monitored(w), 0);
    for (int i = 0; i < count; i++) {
        CHECK_EQ(fin_chan_close(far[i]), 0);
        if (!ended)
            CHECK_EQ(fin_chan_close(near[i]), 0);
    }
    fin_waitset_close(w);
}

int main(void) {
    alarm(50);
    for (enum kind kind = PAIR; kind < KINDS; kind++)
        for (int ended = 0; ended < 2; ended++) {
            scene(kind, 1, ended);
            scene(kind, MANY, ended);
        }
    return 0;
}

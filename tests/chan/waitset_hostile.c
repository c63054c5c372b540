// SPDX-License-Identifier: BSD-2-Clause
// A set with an honest channel and one whose other process scribbles over the memory and floods the sockets, polled and
// monitored: each honest message is handled meanwhile, and when the other process is killed its end is told, if it was not
// caught before.
#include "scribble.h"

static struct fin_waitset *w;
static struct fin_chan *honest[2];
static unsigned handled, ends;
static unsigned char buffer[4096];

static void handle_honest(void *unused) {
    (void)unused;
    unsigned number;
    CHECK_EQ(fin_chan_try_recv(honest[1], &number, sizeof number), sizeof number);
    CHECK_EQ(number, handled);
    handled++;
}

static void handle_other(void *unused) {
    (void)unused;
    ssize_t n = fin_chan_try_recv(a, buffer, sizeof buffer);
    CHECK(n <= (ssize_t)sizeof buffer);
    if (n < 0 && n != -EAGAIN) {
        ends++;
        CHECK_EQ(fin_waitset_remove(w, a), 0);
    }
}

static void serve(void *unused) {
    (void)unused;
    while (fin_waitset_dispatch(w) == 0) {
    }
}

static void one(int mode, bool monitored) {
    pid_t pid = child(scribble, &mode);
    CHECK_EQ(fin_chan_offer(&a, sockets[0], &(struct fin_chan_options){4096, 0}), 0);
    CHECK(fin_chan_most(a) <= sizeof buffer);
    CHECK_EQ(fin_chan_pair(&honest[0], &honest[1], NULL), 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, a, handle_other, NULL), 0);
    CHECK_EQ(fin_waitset_add(w, honest[1], handle_honest, NULL), 0);
    CHECK(!monitored || fin_waitset_monitor(w) == 0);
    handled = ends = 0;
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        for (unsigned i = 0; i < 20; i++) {
            CHECK_EQ(fin_chan_send(honest[0], &i, sizeof i), 0);
            while (handled <= i)
                CHECK_EQ(fin_sleep(20000), 0);
        }
        CHECK_EQ(kill(pid, SIGKILL), 0);
        CHECK_EQ(waitpid(pid, NULL, 0), pid);
        while (ends == 0)
            CHECK_EQ(fin_sleep(20000), 0);
        fin_cancel_as(all);
    }
    CHECK_EQ(ends, 1);
    fin_waitset_close(w);
    CHECK_EQ(fin_chan_close(a), 0);
    CHECK_EQ(fin_chan_close(honest[0]), 0);
    CHECK_EQ(fin_chan_close(honest[1]), 0);
}

int main(void) {
    const char *asked = getenv("FIN_HOSTILE");
    unsigned times = asked ? (unsigned)atoi(asked) : few(60);
    one(0, false);
    int before = settled_descriptors();
    for (unsigned i = 0; i < times; i++) {
        seed = i * 7919;
        one((int)(i % 3), i % 2);
    }
    until_open_descriptors(before);
    return 0;
}

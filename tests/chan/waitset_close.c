// SPDX-License-Identifier: BSD-2-Clause
// Ends: of a set in which others wait and a handler runs; of a channel in its own handler, and in another's; of the other
// side, which closes or dies, while the set sleeps.
#include "chan.h"

static struct fin_waitset *w;
static unsigned handled, shut;

static void waits(void *unused) {
    (void)unused;
    int r = fin_waitset_dispatch(w);
    CHECK(r == 0 || r == -ESHUTDOWN);
    shut += r == -ESHUTDOWN;
}

static void in_handler(void *unused) {
    (void)unused;
    char p;
    CHECK_EQ(fin_chan_recv(b, &p, 1), 1);
    handled++;
    fin_waitset_close(w);
    fin_yield();
}

static void set_ends(enum kind kind, bool while_handled) {
    handled = shut = 0;
    open_kind(kind, 0, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, in_handler, NULL), 0);
    fin_finish {
        for (int i = 0; i < 5; i++)
            fin_async_call(waits, NULL);
        CHECK_EQ(fin_sleep(1000000), 0);
        if (while_handled)
            CHECK_EQ(fin_chan_send(a, "x", 1), 0);
        else
            fin_waitset_close(w);
    }
    CHECK_EQ(handled, while_handled);
    CHECK_EQ(shut, 5 - handled);
    close_both();
}

static void closes_itself(void *unused) {
    (void)unused;
    char p;
    CHECK_EQ(fin_chan_recv(b, &p, 1), 1);
    CHECK_EQ(fin_chan_close(b), 0);
    handled++;
}

static void closes_other(void *unused) {
    (void)unused;
    CHECK_EQ(fin_chan_close(b), 0);
    CHECK_EQ(fin_chan_close(a), 0);
    handled++;
}

static void channel_ends(enum kind kind, fin_waitset_fn *fn) {
    handled = 0;
    open_kind(kind, 0, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, fn == closes_itself ? fn : in_handler, NULL), 0);
    CHECK_EQ(fin_chan_send(a, "x", 1), 0);
    if (fn == closes_other) {
        CHECK_EQ(fin_chan_send(b, "x", 1), 0);
        CHECK_EQ(fin_waitset_remove(w, b), 0); // to stand behind a
        CHECK_EQ(fin_waitset_add(w, a, fn, NULL), 0);
        CHECK_EQ(fin_waitset_add(w, b, in_handler, NULL), 0);
    }
    CHECK_EQ(fin_waitset_dispatch(w), 0);
    CHECK_EQ(fin_waitset_dispatch_nonblock(w), -EAGAIN);
    CHECK_EQ(handled, 1);
    if (fn == closes_itself)
        CHECK_EQ(fin_chan_close(a), 0);
    fin_waitset_close(w);
}

static ssize_t told;

static void told_end(void *unused) {
    (void)unused;
    char p;
    told = fin_chan_recv(b, &p, 1);
    handled++;
}

static void other_side_closes(enum kind kind) {
    handled = 0;
    told = 0;
    open_kind(kind, 0, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, told_end, NULL), 0);
    fin_finish {
        fin_async {
            CHECK_EQ(fin_sleep(1000000), 0);
            CHECK_EQ(fin_chan_send(a, "x", 1), 0);
            CHECK_EQ(fin_chan_close(a), 0);
        };
        CHECK_EQ(fin_waitset_dispatch(w), 0);
        CHECK_EQ(told, 1);
        CHECK_EQ(fin_waitset_dispatch(w), 0);
        CHECK_EQ(told, -ESHUTDOWN);
    }
    CHECK_EQ(handled, 2);
    fin_waitset_close(w);
    CHECK_EQ(fin_chan_close(b), 0);
}

static void victim(void *messages) {
    struct fin_chan *c;
    CHECK_EQ(fin_chan_take(&c, sockets[1], 0), 0);
    for (int i = *(int *)messages; i; i--)
        CHECK_EQ(fin_chan_send(c, "x", 1), 0);
    for (;;)
        pause();
}

static void other_side_dies(int messages) {
    pid_t pid = child(victim, &messages);
    CHECK_EQ(fin_chan_offer(&b, sockets[0], NULL), 0);
    handled = 0;
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, told_end, NULL), 0);
    for (int i = 0; i < messages; i++)
        CHECK_EQ(fin_waitset_dispatch(w), 0);
    fin_finish {
        fin_async {
            CHECK_EQ(fin_sleep(1000000), 0);
            CHECK_EQ(kill(pid, SIGKILL), 0);
        };
        CHECK_EQ(fin_waitset_dispatch(w), 0);
    }
    CHECK_EQ(told, -ECONNRESET);
    CHECK_EQ(handled, messages + 1);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_EQ(fin_chan_close(b), 0);
    fin_waitset_close(w);
}

static void never(void *unused) {
    (void)unused;
    CHECK(false);
}

// After a shutdown whoever comes late is told so: a loop that dispatches needs no other word to end.
static void late(void) {
    struct fin_waitset *w;
    void *arg;
    CHECK_EQ(fin_waitset_new(&w), 0);
    open_kind(PAIR, 4096, 0);
    CHECK_EQ(fin_waitset_add(w, b, never, NULL), 0);
    CHECK_EQ(fin_chan_send(a, "x", 1), 0);
    fin_waitset_shutdown(w);
    fin_waitset_shutdown(w);
    CHECK_EQ(fin_waitset_dispatch(w), -ESHUTDOWN);
    CHECK_EQ(fin_waitset_dispatch_nonblock(w), -ESHUTDOWN);
    CHECK_EQ(fin_waitset_check(w), -ESHUTDOWN);
    CHECK_EQ(fin_waitset_next(w, &arg), -ESHUTDOWN);
    CHECK_EQ(fin_waitset_monitor(w), -ESHUTDOWN);
    CHECK(!fin_waitset_is_monitored(w));
    CHECK_EQ(fin_waitset_add(w, b, never, NULL), -ESHUTDOWN);
    char c;
    CHECK_EQ(fin_chan_recv(b, &c, 1), 1); // it is in no set
    fin_waitset_close(w);
    CHECK_EQ(fin_chan_close(a), 0);
    CHECK_EQ(fin_chan_close(b), 0);
}

int main(void) {
    late();
    for (enum kind kind = 0; kind < KINDS; kind++) {
        set_ends(kind, false);
        set_ends(kind, true);
        channel_ends(kind, closes_itself);
        channel_ends(kind, closes_other);
        other_side_closes(kind);
    }
    if (ON_TSAN)
        return 0; // a forked child
    for (int i = 0; i < 3; i++)
        other_side_dies(i);
    return 0;
}

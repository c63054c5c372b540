// SPDX-License-Identifier: BSD-2-Clause
// A waitset's events, one after the other, over each kind of channel: a message that came before the channel was added, or
// while it is polled, idle, or its handler runs; two messages, one of which is left; the end; triggers; calls in their
// order.
#include "chan.h"

static struct fin_waitset *w;
static char name_a[] = "a", name_b[] = "b", name_s[] = "s";

static void handle(void *name) {
    char p[8];
    struct fin_chan *c = *(char *)name == 'a' ? a : b;
    ssize_t n = fin_chan_try_recv(c, p, sizeof p);
    if (n >= 0)
        LOG("%s%.*s ", (char *)name, (int)n, p);
    else
        LOG("%s%s ", (char *)name, n == -ESHUTDOWN ? "!" : "?");
}

static void handle_source(void *name) { LOG("%s ", (char *)name); }

static void dispatch_all(void) {
    while (fin_waitset_dispatch_nonblock(w) == 0) {
    }
}

static void sleeps(void *unused) {
    (void)unused;
    CHECK_EQ(fin_waitset_dispatch(w), 0);
}

// Somebody sleeps when the message is sent.
static void send_to_sleeper(struct fin_chan *from, const char *text) {
    fin_finish {
        fin_async_call(sleeps, NULL);
        CHECK_EQ(fin_sleep(1000000), 0);
        CHECK_EQ(fin_chan_send(from, text, strlen(text)), 0);
    }
}

static void handle_and_send(void *name) {
    handle(name);
    if (strlen(check_log) < 20)
        CHECK_EQ(fin_chan_send(a, "m", 1), 0);
}

static void one(enum kind kind) {
    check_log[0] = 0;
    open_kind(kind, 0, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_check(w), -EAGAIN);
    CHECK_EQ(fin_chan_send(a, "1", 1), 0);
    CHECK_EQ(fin_waitset_add(w, b, handle, name_b), 0);
    CHECK_EQ(fin_waitset_add(w, b, handle, name_b), -EBUSY);
    CHECK_EQ(fin_waitset_add(w, a, handle, name_a), 0);
    CHECK_EQ(fin_waitset_check(w), 0);
    CHECK_EQ(fin_waitset_check(w), 0);
    dispatch_all();
    LOG("| ");
    CHECK_EQ(fin_chan_send(a, "2", 1), 0);
    CHECK_EQ(fin_chan_send(a, "3", 1), 0);
    CHECK_EQ(fin_waitset_dispatch(w), 0);
    LOG("| ");
    CHECK_EQ(fin_chan_send(b, "4", 1), 0);
    dispatch_all();
    LOG("| ");
    send_to_sleeper(a, "5");
    send_to_sleeper(b, "6");
    CHECK_EQ(fin_chan_send(a, "7", 1), 0); // to an idle one
    CHECK_EQ(fin_waitset_dispatch_nonblock(w), 0);
    CHECK_LOG("b1 | b2 | b3 a4 | b5 a6 b7 ");
    char p;
    CHECK_EQ(fin_chan_recv(b, &p, 1), -EBUSY); // it would wait
    CHECK_EQ(fin_chan_close(a), 0);
    CHECK_EQ(fin_waitset_dispatch(w), 0);
    CHECK_EQ(fin_waitset_dispatch_nonblock(w), -EAGAIN); // the end is told once
    CHECK_LOG("b1 | b2 | b3 a4 | b5 a6 b7 b! ");
    CHECK_EQ(fin_waitset_remove(w, b), 0);
    CHECK_EQ(fin_waitset_remove(w, b), -ENOENT);
    CHECK_EQ(fin_chan_close(b), 0);
    fin_waitset_close(w);
}

// A handler that makes its own next event.
static void again(enum kind kind) {
    check_log[0] = 0;
    open_kind(kind, 0, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, handle_and_send, name_b), 0);
    send_to_sleeper(a, "0");
    dispatch_all();
    CHECK_LOG("b0 bm bm bm bm bm bm ");
    close_both();
    fin_waitset_close(w);
}

static void sources(void) {
    struct fin_waitset_source s = {0};
    check_log[0] = 0;
    CHECK_EQ(fin_waitset_new(&w), 0);
    fin_waitset_trigger(&s); // in no set: nothing
    CHECK_EQ(fin_waitset_add_source(w, &s, handle_source, name_s), 0);
    CHECK_EQ(fin_waitset_check(w), -EAGAIN);
    fin_waitset_trigger(&s);
    fin_waitset_trigger(&s);
    CHECK_EQ(fin_waitset_check(w), 0);
    dispatch_all();
    fin_finish {
        fin_async_call(sleeps, NULL);
        fin_waitset_trigger(&s);
    }
    void *arg = NULL;
    fin_waitset_trigger(&s);
    CHECK_EQ(fin_waitset_next(w, &arg), 0);
    CHECK(arg == name_s);
    CHECK_EQ(fin_waitset_check(w), -EAGAIN);
    CHECK_LOG("s s ");
    CHECK_EQ(fin_waitset_remove_source(w, &s), 0);
    fin_waitset_close(w);
}

int main(void) {
    int before = open_descriptors();
    for (enum kind kind = 0; kind < KINDS; kind++) {
        one(kind);
        again(kind);
    }
    sources();
    CHECK(open_descriptors() <= before + 3); // those of this thread's I/O
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Who sends or receives without ever having to wait, as the other side is that quick, keeps nobody of its thread from
// running, neither a timer, nor from using the same end: for each kind of end, and each way to receive.
#include "others.h"

static struct fin_chan *a, *b;
// Four rings of 64 KiB full. Who receives gives four turns in each, who sends one.
enum { ROUNDS = 4096, OF_RECEIVER = 12, OF_SENDER = 3, PART = 64 };

static char message[1024], got[1024];

static void fill(void) {
    for (int i = 0; i < PART; i++)
        CHECK_EQ(fin_chan_try_send(a, message, 8), 0);
}

static void empty(void) {
    while (fin_chan_try_recv(b, got, sizeof got) >= 0) {
    }
}

static void receives(int i) {
    if (i % PART == 0)
        fill();
    CHECK_EQ(fin_chan_recv(b, got, sizeof got), 8);
}

static void receives_nc(int i) {
    if (i % PART == 0)
        fill();
    CHECK_EQ(fin_chan_recv_nc(b, got, sizeof got), 8);
}

static void receives_descriptors(int i) {
    if (i % PART == 0)
        fill();
    unsigned n = 0;
    CHECK_EQ(fin_chan_recv_fds(b, got, sizeof got, NULL, &n), 8);
}

static void peeks(int i) {
    if (i % PART == 0)
        fill();
    const void *bytes;
    CHECK_EQ(fin_chan_peek(b, &bytes), 8);
    CHECK_EQ(fin_chan_release(b), 0);
}

static void receives_long(int i) {
    if (i % 8)
        return;
    CHECK_EQ(fin_chan_try_send(a, message, 500), 0);
    CHECK_EQ(fin_chan_recv(b, got, sizeof got), 500);
}

static void sends(int i) {
    CHECK_EQ(fin_chan_send(a, message, 8), 0);
    if (i % PART == PART - 1)
        empty();
}

static void sends_long(int i) {
    if (i % 8)
        return;
    CHECK_EQ(fin_chan_send(a, message, 500), 0);
    empty();
}

static void reserves(int i) {
    void *room;
    CHECK_EQ(fin_chan_reserve(a, 8, &room), 0);
    CHECK_EQ(fin_chan_commit(a, 8), 0);
    if (i % PART == PART - 1)
        empty();
}

static void goes_on(const char *what, void (*step)(int), int least, unsigned flags) {
    const struct fin_chan_options options = {.flags = flags};
    CHECK_EQ(fin_chan_pair(&a, &b, &options), 0);
    beside_others(what, step, ROUNDS, least);
    fin_chan_close(a);
    fin_chan_close(b);
}

// Who has such a turn finds the end in use: the call that gives it goes on there.
static void cannot_close(void *end) {
    fin_yield(); // until somebody is in a call
    while (!over) {
        CHECK_EQ(fin_chan_close(*(struct fin_chan **)end), -EBUSY);
        turns++;
        fin_yield();
    }
}

// And can use it: what does not wait never has to.
static void uses(void *end) {
    fin_yield(); // until somebody is in a call
    while (!over) {
        CHECK_EQ(fin_chan_try_send(a, message, 8), 0);
        if (end == &b)
            CHECK_EQ(fin_chan_try_recv(b, got, sizeof got), 8);
        turns++;
        fin_yield();
    }
}

static void beside(void (*other)(void *), void (*step)(int), struct fin_chan **end, unsigned flags) {
    const struct fin_chan_options options = {.flags = flags};
    CHECK_EQ(fin_chan_pair(&a, &b, &options), 0);
    over = false;
    turns = 0;
    fin_finish {
        fin_async_call(other, end);
        for (int i = 0; i < ROUNDS; i++)
            step(i);
        over = true;
    }
    CHECK(turns >= OF_SENDER - 1);
    fin_chan_close(a);
    fin_chan_close(b);
}

int main(void) {
    const struct {
        const char *name;
        void (*step)(int);
        int least;
    } ways[] = {{"recv", receives, OF_RECEIVER},
                {"recv_nc", receives_nc, OF_RECEIVER},
                {"recv_fds", receives_descriptors, OF_RECEIVER},
                {"recv, long", receives_long, OF_RECEIVER},
                {"peek", peeks, OF_RECEIVER},
                {"send", sends, OF_SENDER},
                {"send, long", sends_long, OF_SENDER},
                {"reserve", reserves, OF_SENDER}};
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        goes_on(ways[i].name, ways[i].step, ways[i].least, 0);
        goes_on(ways[i].name, ways[i].step, ways[i].least, FIN_CHAN_SHARED);
    }
    for (unsigned flags = 0; flags <= FIN_CHAN_SHARED; flags += FIN_CHAN_SHARED) {
        beside(cannot_close, sends, &a, flags);
        beside(cannot_close, sends_long, &a, flags);
        beside(cannot_close, reserves, &a, flags);
        beside(cannot_close, peeks, &b, flags);
        beside(cannot_close, receives_descriptors, &b, flags);
        beside(cannot_close, receives, &b, flags);
        beside(cannot_close, receives_nc, &b, flags);
        beside(cannot_close, receives_long, &b, flags);
        beside(uses, sends, &a, flags);
        beside(uses, sends_long, &a, flags);
        beside(uses, reserves, &a, flags);
        beside(uses, peeks, &b, flags);
        beside(uses, receives_descriptors, &b, flags);
        beside(uses, receives, &b, flags);
        beside(uses, receives_nc, &b, flags);
    }
    return 0;
}

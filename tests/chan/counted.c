// SPDX-License-Identifier: BSD-2-Clause
// Who waits with its stack for a message, for room, for an answer or for an event of a waitset is counted as waiting for a
// message, whatever that kind of channel waits with; and who waits for I/O meanwhile, as waiting for that.
#include <unistd.h>

#include "chan.h"

enum { SIZE = 8 };
static struct fin_waitset *set;
static struct fin_rpc *caller, *server;
static int ends[2];

static uint64_t count(enum fin_reason reason) {
    struct fin_stats s;
    fin_stats(&s);
    return s.blocks[reason].with_stack;
}

static void receives(void *unused) {
    char buffer[SIZE];
    (void)unused;
    CHECK_EQ(fin_chan_recv(b, buffer, sizeof buffer), SIZE);
}

static void sends(void *unused) {
    (void)unused;
    while (count(FIN_FOR_MESSAGE) == 0)
        CHECK_EQ(fin_chan_send(a, "message", SIZE), 0);
}

static void calls(void *unused) {
    char buffer[SIZE];
    (void)unused;
    CHECK_EQ(fin_rpc_call(caller, "request", SIZE, buffer, sizeof buffer), SIZE);
}

static void take(void *unused) { receives(unused); }
static void dispatches(void *unused) {
    (void)unused;
    CHECK_EQ(fin_waitset_dispatch(set), 0);
}

static void reads(void *unused) {
    char byte;
    (void)unused;
    CHECK_EQ(fin_read(ends[0], &byte, 1), 1);
}

static void say(void) { CHECK_EQ(fin_chan_send(a, "message", SIZE), 0); }
static void empty(void) {
    char buffer[SIZE];
    while (fin_chan_try_recv(b, buffer, sizeof buffer) == SIZE) {
    }
}
static void answer(void) {
    char buffer[SIZE];
    uint32_t id;
    CHECK_EQ(fin_rpc_accept(server, buffer, sizeof buffer, &id), SIZE);
    CHECK_EQ(fin_rpc_reply(server, id, buffer, SIZE), 0);
}

// `waits` does so once, beside one that reads; `ends_it` makes it run on.
static void counted(void (*waits)(void *), void (*ends_it)(void)) {
    fin_stats_clear();
    fin_finish {
        fin_async_call(reads, NULL);
        fin_async_call(waits, NULL);
        while (count(FIN_FOR_MESSAGE) == 0)
            fin_yield();
        ends_it();
        CHECK_EQ(write(ends[1], "", 1), 1);
    }
    CHECK(count(FIN_FOR_MESSAGE) >= 1);
    CHECK_EQ(count(FIN_FOR_IO), 1);
    CHECK_EQ(count(FIN_FOR_SYNC), 0);
    CHECK_EQ(count(FIN_FOR_PROGRAM), 0);
}

// Without a stack: more than there is room for.
static struct fin_chan_on on;
static void fills(void *state, int result) {
    int left = *(int *)state - 1;
    CHECK_EQ(result, 0);
    if (left == 0)
        fin_cont_end();
    fin_chan_send_on(a, "message", SIZE, &on, fills, &left, sizeof left);
}

static void without_stack(void) {
    struct fin_stats s;
    int left = 200;
    char buffer[SIZE];
    fin_stats_clear();
    fin_finish {
        CHECK(fin_async_cont(fills, &left, sizeof left));
        for (int i = 1; i < left; i++) {
            for (int turns = 0; i % 50 == 1 && turns < 100; turns++)
                fin_yield();
            while (fin_chan_try_recv(b, buffer, sizeof buffer) == -EAGAIN)
                fin_yield();
        }
    }
    fin_stats(&s);
    CHECK(s.blocks[FIN_FOR_MESSAGE].with_continuation > 0);
    CHECK_EQ(s.blocks[FIN_FOR_IO].with_continuation, 0);
    CHECK_EQ(s.blocks[FIN_FOR_IO].recognized, 0);
}

int main(void) {
    alarm(10); // who is not counted is waited for
    CHECK_EQ(pipe(ends), 0);
    for (enum kind kind = LOCAL; kind < KINDS; kind++) {
        open_kind(kind, 4096, 0);
        counted(receives, say);
        counted(sends, empty);
        empty();
        without_stack();
        CHECK_EQ(fin_waitset_new(&set), 0);
        CHECK_EQ(fin_waitset_add(set, b, take, NULL), 0);
        counted(dispatches, say);
        fin_waitset_close(set);
        close_both();
        open_kind(kind, 0, 0);
        CHECK_EQ(fin_rpc_open(&caller, a, 0), 0);
        CHECK_EQ(fin_rpc_open(&server, b, 0), 0);
        counted(calls, answer);
        CHECK_EQ(fin_rpc_close(caller), 0);
        CHECK_EQ(fin_rpc_close(server), 0);
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Who breaks the rules while its messages lie in the ring, or writes more of them when it is gone: where it is a waitset
// that finds that out, the handler, which is told once of an end, hears of it, after what it has received; and then of
// nothing.
#include "by_hand.h"

enum { FLOOD = 200 }; // rings, more than there may be

static struct fin_waitset *w;
static int calls;
static ssize_t heard[4];
static unsigned late, first; // messages, and where they go

static void handle(void *unused) {
    char bytes[64];
    (void)unused;
    CHECK(calls < 4);
    for (; late > 0; late--)
        put(first++, 8, 1); // between what the set has seen and what the handler receives
    heard[calls++] = fin_chan_try_recv(a, bytes, sizeof bytes);
}

// Until that has been heard; the end of a channel: < 0. And then what is still to be found.
static FIN_BLOCKING void dispatch_until(ssize_t last) {
    fin_timeout(20 * FIN_S) {
        while (calls == 0 || (last < 0 ? heard[calls - 1] >= 0 : heard[calls - 1] != last))
            CHECK_EQ(fin_waitset_dispatch(w), 0);
    }
    fin_timeout(5 * FIN_MS) {
        while (fin_waitset_dispatch(w) == 0)
            continue;
    }
}

static void begin(void) {
    open_by_hand();
    calls = 0;
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, a, handle, NULL), 0);
}

static void end(void) {
    CHECK_EQ(fin_waitset_remove(w, a), 0);
    fin_waitset_close(w);
    munmap(memory, 3 * page);
    CHECK_EQ(fin_chan_close(a), 0);
}

// A message as it should be: the end is quick after it.
static FIN_BLOCKING void one_message(void) {
    put(0, 8, 1);
    dispatch_until(8);
    CHECK_EQ(calls, 1);
}

static void breaks(int messages) {
    begin();
    one_message();
    for (int i = 0; i < FLOOD; i++)
        send(other[0], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    for (int i = 0; i < messages; i++)
        put(1 + (unsigned)i, 8, 1);
    close_other();
    dispatch_until(-1);
    CHECK(heard[calls - 1] < 0 && heard[calls - 1] != -EAGAIN);
    end();
}

static void writes_on(bool quick, int messages) {
    char bytes[64];
    int before = quick;
    begin();
    if (quick)
        one_message();
    late = (unsigned)messages;
    first = (unsigned)before;
    close_other();
    dispatch_until(-1);
    CHECK_EQ(calls, before + messages + 1);
    for (int i = before; i < before + messages; i++)
        CHECK_EQ(heard[i], 8);
    CHECK_EQ(heard[calls - 1], -ECONNRESET);
    put(first, 8, 1);
    dispatch_until(-1);
    CHECK_EQ(calls, before + messages + 1);
    CHECK_EQ(fin_chan_try_recv(a, bytes, sizeof bytes), -ECONNRESET);
    end();
}

int main(void) {
    for (int messages = 0; messages < 3; messages++)
        breaks(messages);
    for (int messages = 0; messages < 3; messages++)
        for (int quick = 0; quick < 2; quick++)
            writes_on(quick, messages);
    return 0;
}

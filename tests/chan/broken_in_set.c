// SPDX-License-Identifier: BSD-2-Clause
// A peer that breaks the rules while its messages lie in the ring: where it is a waitset that finds that out, the handler,
// which is told once of an end, hears of it, after what it has received.
#include "by_hand.h"

enum { FLOOD = 200 }; // rings, more than there may be

static struct fin_waitset *w;
static int calls;
static ssize_t heard[4];

static void handle(void *unused) {
    char bytes[64];
    (void)unused;
    CHECK(calls < 4);
    heard[calls++] = fin_chan_try_recv(a, bytes, sizeof bytes);
}

// Until nothing is found any more.
static FIN_BLOCKING void dispatch_all(void) {
    fin_timeout(20 * FIN_MS) {
        while (fin_waitset_dispatch(w) == 0)
            continue;
    }
}

static void one(int messages) {
    open_by_hand();
    calls = 0;
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, a, handle, NULL), 0);
    put(0, 8, 1); // a message as it should be: the end is quick after it
    dispatch_all();
    CHECK_EQ(calls, 1);
    CHECK_EQ(heard[0], 8);
    for (int i = 0; i < FLOOD; i++)
        send(other[0], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    for (int i = 0; i < messages; i++)
        put(1 + (unsigned)i, 8, 1);
    close_other();
    dispatch_all();
    CHECK(calls >= 2);
    CHECK(heard[calls - 1] < 0 && heard[calls - 1] != -EAGAIN);
    CHECK_EQ(fin_waitset_remove(w, a), 0);
    fin_waitset_close(w);
    munmap(memory, 3 * page);
    CHECK_EQ(fin_chan_close(a), 0);
}

int main(void) {
    for (int messages = 0; messages < 3; messages++)
        one(messages);
    return 0;
}

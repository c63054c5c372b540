// SPDX-License-Identifier: BSD-2-Clause
// The end of the other side: all that it sent can be received, then the receiver is told, at once and for good; who waits,
// in either direction, is woken; who sends is told.
#include "chan.h"

static int result;

static void receive(void *end) {
    unsigned word;
    result = (int)fin_chan_recv(end, &word, sizeof word);
}

static void send_until(void *end) {
    unsigned word = 0;
    while ((result = fin_chan_send(end, &word, sizeof word)) == 0) {
    }
}

static void close_while(void (*waits)(void *), int expected) {
    result = 1;
    fin_finish {
        fin_async_call(waits, b);
        CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
        CHECK_EQ(fin_chan_close(b), -EBUSY);
        CHECK_EQ(fin_chan_close(a), 0);
    }
    CHECK_EQ(result, expected);
    CHECK_EQ(fin_chan_close(b), 0);
}

int main(void) {
    int before = open_descriptors();
    unsigned word;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        open_kind(kind, 0, 0);
        for (unsigned i = 0; i < 100; i++)
            CHECK_EQ(fin_chan_send(a, &i, sizeof i), 0);
        CHECK_EQ(fin_chan_close(a), 0);
        for (unsigned i = 0; i < 100; i++) {
            CHECK_EQ(fin_chan_recv(b, &word, sizeof word), sizeof word);
            CHECK_EQ(word, i);
        }
        CHECK_EQ(fin_chan_recv(b, &word, sizeof word), -ESHUTDOWN);
        CHECK_EQ(fin_chan_recv(b, &word, sizeof word), -ESHUTDOWN);
        CHECK_EQ(fin_chan_try_recv(b, &word, sizeof word), -ESHUTDOWN);
        int r = fin_chan_send(b, &word, sizeof word);
        CHECK_EQ(r, -EPIPE);
        CHECK_EQ(fin_chan_send(b, &word, sizeof word), -EPIPE);
        CHECK_EQ(fin_chan_try_send(b, &word, sizeof word), -EPIPE);
        CHECK_EQ(fin_chan_close(b), 0);
        open_kind(kind, 0, 0);
        CHECK_EQ(fin_chan_close(a), 0);
        CHECK_EQ(fin_chan_try_recv(b, &word, sizeof word), -ESHUTDOWN);
        CHECK_EQ(fin_chan_close(b), 0);
        open_kind(kind, 4096, 0);
        close_while(receive, -ESHUTDOWN);
        open_kind(kind, 4096, 0);
        close_while(send_until, -EPIPE);
    }
    if (before < open_descriptors()) // the thread's own I/O, made meanwhile
        before = open_descriptors();
    open_kind(SOCKET, 0, 0);
    close_both();
    CHECK_EQ(open_descriptors(), before);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A full channel: try_send says so, send waits until the receiver has made room, and what waits goes on in its order.
#include "chan.h"

static unsigned sent;

static void send_more(void *count) {
    for (unsigned i = 0; i < *(unsigned *)count; i++, sent++)
        CHECK_EQ(fin_chan_send(a, &sent, sizeof sent), 0);
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        unsigned n = 0, word, more = 100;
        open_kind(kind, 4096, 0);
        for (sent = 0; fin_chan_try_send(a, &sent, sizeof sent) == 0; sent++)
            n++;
        CHECK(n >= 32 && n <= 64);
        CHECK_EQ(fin_chan_try_send(a, &sent, sizeof sent), -EAGAIN);
        fin_finish {
            fin_async_call(send_more, &more);
            CHECK_EQ(sent, n);
            CHECK_EQ(fin_chan_try_send(a, &n, sizeof n), -EAGAIN); // nobody overtakes
            for (unsigned i = 0; i < n + more; i++) {
                CHECK_EQ(fin_chan_recv(b, &word, sizeof word), sizeof word);
                CHECK_EQ(word, i);
            }
        }
        CHECK_EQ(sent, n + more);
        CHECK_EQ(fin_chan_try_recv(b, &word, sizeof word), -EAGAIN);
        close_both();
    }
    return 0;
}

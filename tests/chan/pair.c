// SPDX-License-Identifier: BSD-2-Clause
// A request and its answer, over each kind of channel, and what is there without waiting.
#include "chan.h"

static void answer(void *end) {
    unsigned word;
    CHECK_EQ(fin_chan_recv(end, &word, sizeof word), sizeof word);
    word *= 2;
    CHECK_EQ(fin_chan_send(end, &word, sizeof word), 0);
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        unsigned word = 21;
        open_kind(kind, 0, 0);
        CHECK_EQ(fin_chan_try_recv(a, &word, sizeof word), -EAGAIN);
        fin_finish {
            fin_async_call(answer, b);
            CHECK_EQ(fin_chan_send(a, &word, sizeof word), 0);
            CHECK_EQ(fin_chan_recv(a, &word, sizeof word), sizeof word);
        }
        CHECK_EQ(word, 42);
        CHECK_EQ(fin_chan_try_send(b, NULL, 0), 0);
        CHECK_EQ(fin_chan_try_recv(a, NULL, 0), 0);
        close_both();
    }
    return 0;
}

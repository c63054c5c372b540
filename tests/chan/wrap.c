// SPDX-License-Identifier: BSD-2-Clause
// Bytes inside a long message that look like the header of the next lap are not taken for one.
#include "chan.h"

enum { WORDS = 200, LAPS = 600 };

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        open_kind(kind, 4096, 0);
        for (unsigned lap = 0; lap < LAPS; lap++) {
            uint64_t forged[WORDS], out[WORDS];
            // Any word that is at the place of a header says: 8 bytes, of one of the laps that are next.
            for (int i = 0; i < WORDS; i++)
                forged[i] = (uint64_t)8 << 32 | (uint64_t)(lap * 1664 / 4096 + 1 + (unsigned)i % 3) << 8 | 1;
            CHECK_EQ(fin_chan_send(a, forged, sizeof forged), 0);
            CHECK_EQ(fin_chan_recv(b, out, sizeof out), sizeof out);
            CHECK(memcmp(forged, out, sizeof out) == 0);
            for (unsigned i = 0; i < lap % 37; i++) {
                CHECK_EQ(fin_chan_try_recv(b, out, sizeof out), -EAGAIN);
                CHECK_EQ(fin_chan_send(a, &i, sizeof i), 0);
                CHECK_EQ(fin_chan_try_recv(b, out, sizeof out), sizeof i);
                CHECK_EQ((unsigned)out[0], i);
            }
            CHECK_EQ(fin_chan_try_recv(b, out, sizeof out), -EAGAIN);
        }
        close_both();
    }
    return 0;
}

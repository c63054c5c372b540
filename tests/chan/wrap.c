// SPDX-License-Identifier: BSD-2-Clause
// Bytes inside a long message that look like the header of the next lap are not taken for one, whichever way the message was
// sent, or given up.
#include "chan.h"

enum { WORDS = 200, LAPS = 600 };

// ---- the same where it is known in which line a message begins (src/chan/ump.h)

enum { LINES = 64, IN_LINE = 8, LONG = 1024 };
enum way { SENT, RESERVED, GIVEN_UP, WAYS };

static unsigned lines; // so far

// What is where a line may have a header says: 8 bytes, of that line's next lap but `more`.
static void disguise(uint64_t *p, unsigned words, unsigned more) {
    unsigned before = words * 8 < LONG ? 1 : IN_LINE;
    for (unsigned i = 0; i < words; i++)
        p[i] = (uint64_t)8 << 32 | (uint64_t)((lines + (before + i) / IN_LINE) / LINES + 2 + more) << 8 | 1;
}

static void send_disguised(enum way way, unsigned words, unsigned more) {
    uint64_t p[2 * WORDS], out[2 * WORDS];
    void *room;
    disguise(p, words, more);
    if (way == SENT) {
        CHECK_EQ(fin_chan_send(a, p, words * 8), 0);
    } else {
        CHECK_EQ(fin_chan_reserve(a, words * 8, &room), 0);
        memcpy(room, p, words * 8);
        if (way == GIVEN_UP) {
            fin_chan_abandon(a);
            return;
        }
        CHECK_EQ(fin_chan_commit(a, words * 8), 0);
    }
    CHECK_EQ(fin_chan_recv(b, out, sizeof out), words * 8);
    CHECK(memcmp(p, out, words * 8) == 0);
    lines += words * 8 < LONG ? (words + IN_LINE) / IN_LINE : (words + 2 * IN_LINE - 1) / IN_LINE;
}

static void send_line(unsigned number) {
    uint64_t word = number;
    CHECK_EQ(fin_chan_try_recv(b, &word, sizeof word), -EAGAIN);
    CHECK_EQ(fin_chan_send(a, &number, sizeof number), 0);
    CHECK_EQ(fin_chan_try_recv(b, &word, sizeof word), sizeof number);
    CHECK_EQ((unsigned)word, number);
    lines++;
}

static void line_by_line(enum kind kind) {
    lines = 0;
    open_kind(kind, LINES * IN_LINE * 8, 0);
    for (unsigned i = 0; i < LAPS; i++) {
        send_disguised(i % WAYS, i / WAYS % 2 ? 240 : 100, i % 2);
        for (unsigned k = 0; k < i * 7 % 100; k++)
            send_line(k);
    }
    close_both();
}

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
        line_by_line(kind);
    }
    return 0;
}

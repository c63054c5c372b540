// SPDX-License-Identifier: BSD-2-Clause
// Two sides that talk use few lines, over and over (src/chan/room.c). At any point of that one of them may begin to send as
// much as the channel holds, in messages of any length: all of it fits, and arrives as it was sent. Laps pass the last that
// a header can tell from the others.
#include "chan.h"
#include "chan/chan.h"

enum { LINES = 64, LAPS = 1 << 24 };

static unsigned seed, sent, taken;
static unsigned char bytes[LINES * UMP_LINE] __attribute__((aligned(8)));

static size_t size_of(unsigned number) {
    unsigned n = number * 2654435761u >> 8;
    return n % 8 ? n % (FIN_CHAN_LINE + 1) : n % 1500;
}

// What lies where lines have headers looks like those of the laps to come.
static void disguise(const struct fin_chan *c, unsigned number, size_t size) {
    const struct ump_tx *tx = &c->out.ump;
    uint32_t offset = ump_offset(size);
    for (size_t at = UMP_LINE - offset; at + 8 <= size; at += UMP_LINE) {
        uint64_t position = tx->head + (at + offset) / UMP_LINE + (number % 16 + 1) * LINES;
        *(uint64_t *)(bytes + at) = 8ull << 32 | ump_lap(position, tx->shift) | UMP_MESSAGE;
    }
}

static bool say(struct fin_chan *c, unsigned number, size_t size) {
    fill(bytes, size, number);
    disguise(c, number, size);
    int r = fin_chan_try_send(c, bytes, size);
    CHECK(r == 0 || r == -EAGAIN);
    return r == 0;
}

static void hear(struct fin_chan *c, unsigned number, size_t size) {
    CHECK_EQ(fin_chan_recv(c, bytes, sizeof bytes), (ssize_t)size);
    uint32_t offset = ump_offset(size);
    for (size_t i = 0; i < size; i++)
        CHECK((i + offset >= UMP_LINE && (i + offset) % UMP_LINE < 8) || bytes[i] == (unsigned char)(number * 31 + i * 7));
}

static void talk(unsigned trips) {
    for (unsigned i = 0; i < trips; i++) {
        CHECK(say(a, i, i % FIN_CHAN_LINE));
        hear(b, i, i % FIN_CHAN_LINE);
        CHECK(say(b, ~i, 8));
        hear(a, ~i, 8);
    }
}

// As much as there is room for, of which some has been taken when more is sent.
static void flood(bool lines) {
    unsigned first = sent;
    while (say(a, sent, lines ? FIN_CHAN_LINE : size_of(sent)))
        sent++;
    CHECK(!lines || sent - first >= LINES * 3 / 4 - 3);
    for (unsigned n = next_random(&seed) % (sent - first + 1); n; n--, taken++)
        hear(b, taken, lines ? FIN_CHAN_LINE : size_of(taken));
    while (say(a, sent, lines ? FIN_CHAN_LINE : size_of(sent)))
        sent++;
    for (; taken < sent; taken++)
        hear(b, taken, lines ? FIN_CHAN_LINE : size_of(taken));
    CHECK_EQ(fin_chan_try_recv(b, bytes, sizeof bytes), -EAGAIN);
}

// The longest message fits where a talk has ended, too; one that is given up leaves nothing.
static void whole(void) {
    void *room;
    size_t most = fin_chan_most(a);
    CHECK_EQ(fin_chan_reserve(a, most, &room), 0);
    fin_chan_abandon(a);
    CHECK_EQ(fin_chan_try_recv(b, bytes, sizeof bytes), -EAGAIN);
    CHECK(say(a, 7, most));
    hear(b, 7, most);
}

static void in_turns(unsigned rounds) {
    for (unsigned i = 0; i < rounds; i++) {
        talk(next_random(&seed) % 200);
        if (i % 3 == 0)
            whole();
        else
            flood(i % 3 == 1);
    }
}

static void set_position(struct fin_chan *from, struct fin_chan *to, uint64_t position) {
    struct ump_tx *tx = &from->out.ump;
    tx->head = tx->consumed = tx->then = position;
    tx->limit = position + LINES;
    to->in.ump.tail = position;
    to->in.ump.acknowledge_at = position + ump_window(LINES);
    to->in.ump.own->consumed = position;
    memset(tx->ring, 0, LINES * UMP_LINE); // headers of laps so long ago cannot be
}

// Both ways to get the next lines, whatever this processor likes: those that are touched are overwritten.
static void both_ways(bool touches) {
    a->out.ump.touches = b->out.ump.touches = touches;
    talk(1000);
    uint64_t used = a->out.ump.head - LINES;
    CHECK(used > 1000 + LINES); // it went back: what was skipped counts
    CHECK((a->out.ump.head & (LINES - 1)) <= ump_window(LINES) + 1);
    in_turns(few(3000));
    set_position(a, b, (uint64_t)(LAPS - 20) * LINES);
    in_turns(few(3000));
}

int main(void) {
    for (enum kind kind = PAIR; kind < KINDS; kind++)
        for (int touches = 0; touches < 2; touches++) {
            open_kind(kind, LINES * UMP_LINE, 0);
            both_ways(touches);
            close_both();
        }
    return 0;
}

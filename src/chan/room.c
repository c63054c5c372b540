// SPDX-License-Identifier: BSD-2-Clause
// Which lines the sender may write, and skips. Where two sides talk, and each waits for the other's message, a message is
// quickest in lines that were used a moment ago: processors fetch ahead what is gone through in order, and take it from the
// other side. So a sender that finds the ring empty after a window goes back to its first line, and leaves a skip: a header
// that says how many lines further on the next message begins. That is the first line of the next lap: everything is counted
// as if the lines between had been used. A window is long enough that what is read of the other side at its end, and the
// skip, cost each message little.
//
// Until the receiver has gone past it, the skip's own line (the hole) is in the way of the lap that begins there; where they
// talk, it has by the end of the window. A sender that needs more room before that skips over the hole. So what the ring
// holds is the same, but for two lines.
//
// Headers are told from older ones by their laps, of which the low 24 bits count. One lap in 2^20 is gone through as a
// whole, so that no line keeps a header for longer. No lap is left while bytes of messages may be in the place of headers
// (`dirty`).
#include "chan/bell.h"
#include "chan/wait.h"

enum { WHOLE_LAPS = 1 << 20, SKIPS = 3 };

// As much came as went.
static void decide(struct ump_tx *tx) {
    uint64_t answers = __atomic_load_n(tx->other, __ATOMIC_RELAXED), sent = tx->head - tx->then;
    if (sent < ump_window(tx->lines))
        return;
    bool talks = !tx->alone && (answers - tx->answers) * 2 > sent;
    __atomic_store_n(&tx->talks, talks, __ATOMIC_RELAXED); // for who receives at this end
    tx->ahead = talks ? 0 : UMP_AHEAD * UMP_LINE;
    tx->then = tx->head;
    tx->answers = answers;
}

// Pre: the line at the head and the one after those skipped are free. Nobody is told: a message follows.
static void skip(struct ump_tx *tx, uint64_t lines) {
    uint64_t then = tx->head;
    ump_write_header(tx, ump_line(tx->ring, then, tx->lines), ump_header(tx, lines, UMP_SKIP), then + lines);
    tx->then += lines;
}

static inline uint64_t in_lap(const struct ump_tx *tx) { return tx->head & (tx->lines - 1); }

// Behind the hole there must be room for the longest message.
static bool may_go_back(const struct ump_tx *tx) {
    return tx->talks && tx->consumed == tx->head && in_lap(tx) >= ump_window(tx->lines) && in_lap(tx) < tx->lines / 2 - 1 &&
           !tx->hole && tx->head >= tx->dirty && (tx->head >> tx->shift) % WHOLE_LAPS != 0;
}

static uint64_t first_not_free(const struct ump_tx *tx) {
    if (!tx->hole)
        return tx->consumed + tx->lines;
    return tx->head > tx->hole + tx->lines ? tx->base + tx->lines : tx->hole + tx->lines;
}

// Where it talks it looks again at the end of the window.
static void set_limit(struct ump_tx *tx) {
    uint64_t free = first_not_free(tx), window = ump_window_end(tx->head, tx->lines) + 1;
    tx->limit = tx->talks && window < free ? window : free;
}

static void go_on(struct ump_tx *tx, uint32_t lines) {
    if (may_go_back(tx)) {
        tx->hole = tx->head;
        skip(tx, tx->lines - in_lap(tx));
        tx->base = tx->head;
    }
    set_limit(tx);
    if (ump_free(tx, lines))
        return;
    tx->limit = first_not_free(tx);
    if (tx->hole && !ump_free(tx, lines) && tx->head < tx->hole + tx->lines) {
        skip(tx, tx->hole + tx->lines + 1 - tx->head);
        tx->limit = first_not_free(tx);
        if (!ump_free(tx, lines)) // no message follows before the receiver has gone on
            ump_tell(tx);
    }
}

// Who is killed while it runs has neither said that it takes no more nor left a number to ring for. Its socket tells: a look
// there costs as much as twenty messages or more, so only who has slept, or looked for events, since the last one looks, and
// only if it is not about to ring.
static void look_for_receiver(struct ump_tx *tx, uint64_t armed) {
    uint64_t now = fin_woken_ask(), number = armed & ~UMP_FENCES;
    if (now <= tx->alive)
        return;
    tx->alive = now;
    if ((number == 0 || number == tx->rung) && fin_bell_is_cut(tx->fd))
        fin_ump_no_receiver(tx, -EPIPE);
}

// Room, as the receiver says by now. (models/chan.pml)
bool fin_ump_refresh(struct ump_tx *tx, uint32_t lines) {
    uint64_t armed = __atomic_load_n(&tx->peer->armed, __ATOMIC_RELAXED);
    uint64_t consumed = __atomic_load_n(&tx->peer->consumed, __ATOMIC_ACQUIRE);
    look_for_receiver(tx, armed);
    if (armed == UMP_CLOSED)
        fin_ump_no_receiver(tx, -EPIPE);
    else if (consumed < tx->consumed || consumed > tx->head)
        fin_ump_no_receiver(tx, -EPROTO);
    if (tx->end)
        return false;
    tx->consumed = consumed;
    tx->fence = !tx->alone && !(tx->registered && __atomic_load_n(&tx->peer->barriers, __ATOMIC_RELAXED));
    if (tx->hole && consumed > tx->hole)
        tx->hole = 0;
    decide(tx);
    go_on(tx, lines);
    if (tx->end) // a skip has found that out
        tx->limit = 0;
    if (fin_ump_is_due(&tx->others_ran, tx->head, tx->lines) && !tx->alone)
        __atomic_store_n(&tx->owes, true, __ATOMIC_RELAXED);
    return ump_free(tx, lines);
}

// They are free, and lie beyond the line at which the receiver looks. No lap's header is 0.
void fin_ump_touch(struct ump_tx *tx) {
    if (ump_free(tx, UMP_TOUCH))
        for (uint64_t i = 1; i < UMP_TOUCH; i++)
            __atomic_store_n((uint64_t *)ump_line(tx->ring, tx->head + i, tx->lines), 0, __ATOMIC_RELAXED);
}

// More in a row are of no sender of ours: it skips to the next lap, and there over the hole.
uint64_t fin_ump_skip(struct ump_rx *rx, uint64_t header) {
    for (int i = 0; i < SKIPS; i++) {
        if (ump_size(header) == 0 || ump_size(header) > rx->lines)
            break;
        __atomic_store_n(&rx->tail, rx->tail + ump_size(header), __ATOMIC_RELAXED);
        rx->armed_at += ump_size(header);
        fin_ump_consumed(rx); // nothing was taken: it may be armed, and stays so
        header = ump_look_once(rx);
        if ((header & UMP_KIND) != UMP_SKIP)
            return header;
    }
    rx->broken = true;
    return header;
}

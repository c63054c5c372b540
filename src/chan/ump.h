// SPDX-License-Identifier: BSD-2-Clause
// UMP: a ring of 64-byte lines in shared memory, from one sender to one receiver.
//
// A message begins with a line of its own: a header word, then its bytes, contiguous over as many lines as they need (the
// ring is mapped twice in a row, so also over its end). Those of long ones begin with the next line: right behind the header
// every other load or store of a copy would touch two lines. The header says how often the ring
// has been gone around (the lap); the receiver looks at the one line where the next message would begin, and it has arrived
// when the lap there is the one expected. The header is written last: a message is there as a whole or not at all, wherever
// the sender was stopped.
//
// A line inside a message holds bytes where others have a header, and in the next lap they might look like one. So before a
// header is published the line behind its message is cleared if such bytes may be in it (`dirty`): the receiver does not
// look there before it has seen the header. The line behind a message is therefore always the sender's.
//
// Who writes what:     header and bytes      the sender; the header with release, read with acquire
//                      struct sender_line    the sender: `armed` while it waits for room, `closed`
//                      struct receiver_line  the receiver: `armed` while it waits for messages; `consumed`, lines taken,
//                                            some at a time; release, read with acquire: they are free then
// A header may also be a skip: the next message begins so many lines further on (room.c).
// Each side keeps its own indices to itself and reads nothing back of what it wrote, but that the other is dead: what the
// other side scribbles there has no effect. What it reads of the other side's is copied, then checked.
//
// Waiting. A receiver that found nothing for a while writes a new number into `armed`, looks at the ring again, and sleeps
// until something comes through the socket. A sender publishes, looks at `armed`, and where there is a number for which it
// has not rung yet, it rings: sends a packet. Only the waiter writes `armed`, and where it is dead, who has heard of that; a
// packet too many only wakes it for nothing, and many too many end the channel (-EPROTO).
//     receiver: armed = n;   B;  header there? then do not sleep     sender: header = h;  b;  armed != 0 and new? then ring
// One of the two sees the other's store if B and b are full barriers. b would cost every message the time that its line
// takes to get here from the other processor. So the receiver's B is membarrier(2), which makes b happen on every processor
// that runs a process that registered for it, and b is none but for the compiler. Where either side cannot, b is a fence.
//
// B interrupts those processors: dearer than all else where a few messages come between two sleeps. So a receiver that had
// so few since it armed last asks for a fence as b from now on, by UMP_FENCES in `armed`, for which it makes B once more.
// From then on its own B is a fence: a sender who sees the bit makes one and looks again, and who no longer sees it sees a
// number for which to ring. Once many come the receiver takes the bit away, and the next B is membarrier(2) again. The
// number stays, if there is one: who takes messages may not be who waits for them (a waitset), and of a message that has
// been taken the sender may not have looked yet whether to ring.
// Waiting for room is the same with the roles exchanged: rare on both sides, so both have a fence. (models/chan.pml)
#ifndef FIN_CHAN_UMP_H
#define FIN_CHAN_UMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/woken.h"

enum { UMP_LINE = 64, UMP_HEADER = 8, UMP_FIRST = UMP_LINE - UMP_HEADER, UMP_FDS = 16, UMP_PARCELS = 2, UMP_PLACES = 3 };
enum { UMP_LONG = 1024 }; // bytes
enum { UMP_AHEAD = 24, UMP_WINDOW = 32, UMP_TOUCH = 8 }; // lines

struct sender_line {
    uint64_t armed;
    uint32_t closed;
} __attribute__((aligned(128)));

// `armed` is read for every message, `consumed` now and then: to write there must not take away the line of the first.
struct receiver_line {
    uint64_t consumed;
    uint64_t armed __attribute__((aligned(128))); // UMP_CLOSED: the receiver takes no more
    uint32_t barriers;                            // B is membarrier(2)
} __attribute__((aligned(128)));

#define UMP_CLOSED UINT64_MAX
#define UMP_FENCES ((uint64_t)1 << 63)

// The header: length, lap, kind. A skip is no message: the next one begins `length` lines further on (room.c).
enum { UMP_MESSAGE = 1, UMP_WITH_FDS = 2, UMP_SKIP = 3, UMP_KIND = 0xff };
#define UMP_LAP 0xffffff00u

struct meeting; // bell.h

struct ump_tx {
    char *ring;
    const struct receiver_line *peer;
    uint64_t head, limit; // lines since the beginning: the next message's, and where to look again how many are free
    uint64_t dirty;       // the first line that has certainly no bytes in its header's place
    size_t ahead;         // how many bytes before its use a line is fetched, or 0: they are not got in advance
    uint32_t lines, shift;
    bool fence;      // b is needed
    bool registered; // this process registered for membarrier(2)
    bool alone;      // both ends are on this thread
    bool talks;      // each side waits for the other's messages
    bool owes;       // as of who receives
    bool touches;    // the next lines are got by stores
    int end;         // 0, or why nothing can be sent any more
    uint64_t rung;   // the number of `armed` for which the bell was rung
    uint64_t alive;  // when the receiver was last looked for, fin_host_ms(); within a process: after all time
    uint64_t armed;  // our own last number
    struct sender_line *own;
    uint64_t consumed;       // as last seen
    uint64_t others_ran;     // as of who receives
    uint64_t hole, base;     // a skip that may not be read yet, or 0, and where it led to
    const uint64_t *other;   // `tail` of the other direction at this end
    uint64_t then, answers;  // `head` and *other when `talks` was decided; what was skipped does not count
    struct meeting *meeting; // within a process
    int fd;                  // between processes
} __attribute__((aligned(64)));

struct ump_rx {
    const char *ring;
    uint64_t tail;
    uint64_t acknowledge_at; // where `consumed` is to be written next
    size_t ahead;            // how many bytes before it is taken a line is fetched
    const bool *talks;       // of the other direction at this end
    uint32_t lines, shift;
    struct receiver_line *own;
    const struct sender_line *peer;
    uint64_t told;               // what `consumed` says
    uint64_t armed, rung, rings; // rings: that have come
    uint64_t waits;              // the number in our `armed`, or 0
    struct meeting *meeting;
    int fd;
    bool alone; // this and the next three are looked at as one word: plainly_here in lmp.h
    bool watched;                // in a waitset, and no handler runs: it arms and disarms
    bool gone, broken;           // the sender is; nothing is received any more
    bool unread;                 // what the socket has told is not all taken
    uint8_t parcels;            // descriptors that have come before their messages; in the last place one too many
    uint8_t counts[UMP_PLACES]; // of the descriptors in them
    bool lacking[UMP_PLACES];   // not all of them could be had
    int fds[UMP_PLACES][UMP_FDS];
    int why;           // it is broken: what the system denies, or the end that was told; 0: what the sender wrote cannot be
    bool asks;         // it may ask for fences: one thread has this end
    uint64_t fences;   // UMP_FENCES while it does, or 0
    uint64_t armed_at; // `tail` when it armed last, and what was skipped since
    // Who receives without ever having to wait gives the others of its thread a turn for each quarter of a ring.
    uint64_t others_ran; // `tail` then
    bool owes;           // a turn, which the next call that may block gives
} __attribute__((aligned(64)));

// Where its bytes begin, from its first line on.
static inline uint32_t ump_offset(size_t size) { return __builtin_expect(size < UMP_LONG, 1) ? UMP_HEADER : UMP_LINE; }

static inline uint32_t ump_lines(size_t size) {
    return (uint32_t)((size + ump_offset(size) + UMP_LINE - 1) / UMP_LINE);
}

static inline char *ump_line(const char *ring, uint64_t position, uint32_t lines) {
    return (char *)ring + (position & (lines - 1)) * UMP_LINE;
}

// Of the lap that the position is in: from 1 on, so that fresh memory has none.
static inline uint32_t ump_lap(uint64_t position, uint32_t shift) { return (uint32_t)((position >> shift) + 1) << 8; }

typedef uint64_t __attribute__((vector_size(16), aligned(1), may_alias)) ump_pair;
typedef uint64_t __attribute__((aligned(1), may_alias)) ump_word;
typedef uint32_t __attribute__((aligned(1), may_alias)) ump_half;
#define UMP_PAIR(p) (*(ump_pair *)(p))
#define UMP_WORD(p) (*(ump_word *)(p))
#define UMP_HALF(p) (*(ump_half *)(p))

// Lengths of up to a line, without a call and with as few stores as can be: how many fit into the processor's store buffer
// limits how many lines are on their way to it. They go from the end to the beginning, where the header will follow: Zen 4
// joins stores to the same half of a line if they come one after the other. Of a whole line all but the first word are
// aligned.
#define UMP_THEN __atomic_signal_fence(__ATOMIC_SEQ_CST) // the compiler does not change their order
static inline void ump_copy_line(void *to, const void *from, size_t n) {
    char *t = to, *f = (char *)from;
    if (n > 40) {
        uint64_t a = UMP_WORD(f);
        ump_pair b = UMP_PAIR(f + 8), c = UMP_PAIR(f + 24), d = UMP_PAIR(f + n - 16);
        UMP_PAIR(t + n - 16) = d;
        UMP_THEN;
        UMP_PAIR(t + 24) = c;
        UMP_THEN;
        UMP_PAIR(t + 8) = b;
        UMP_THEN;
        UMP_WORD(t) = a;
    } else if (n > 32) {
        uint64_t a = UMP_WORD(f);
        ump_pair b = UMP_PAIR(f + 8), c = UMP_PAIR(f + n - 16);
        UMP_PAIR(t + n - 16) = c;
        UMP_THEN;
        UMP_PAIR(t + 8) = b;
        UMP_THEN;
        UMP_WORD(t) = a;
    } else if (n >= 16) {
        ump_pair a = UMP_PAIR(f), b = UMP_PAIR(f + n - 16);
        UMP_PAIR(t + n - 16) = b;
        UMP_THEN;
        UMP_PAIR(t) = a;
    } else if (n >= 8) {
        uint64_t a = UMP_WORD(f), b = UMP_WORD(f + n - 8);
        UMP_WORD(t) = a, UMP_WORD(t + n - 8) = b;
    } else if (n >= 4) {
        uint32_t a = UMP_HALF(f), b = UMP_HALF(f + n - 4);
        UMP_HALF(t) = a, UMP_HALF(t + n - 4) = b;
    } else if (n > 0) {
        char a = f[0], b = f[n / 2], c = f[n - 1];
        t[0] = a, t[n / 2] = b, t[n - 1] = c;
    }
}

static inline bool ump_free(const struct ump_tx *tx, uint32_t lines) { return tx->head + lines < tx->limit; }

// Where the thread has slept, or looked for events, since it last looked for the receiver, fin_ump_refresh does so first.
static inline bool ump_room(const struct ump_tx *tx, uint32_t lines) {
    return ump_free(tx, lines) && __builtin_expect(fin_woken_at <= tx->alive, 1);
}

int fin_ump_ring(struct ump_tx *tx, uint64_t armed); // what is in `armed`; 0, -EPIPE, or what denies to wake the sleeper

// A line that is written soon begins to come here. Not one that the receiver is looking at: it would come twice.
static inline void ump_fetch(const char *line) {
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

void fin_ump_touch(struct ump_tx *tx); // gets the next lines

// Before a line is written; pre: tx->ahead.
static inline void ump_get_lines(struct ump_tx *tx, const char *line) {
    if (!tx->touches)
        ump_fetch(line + tx->ahead);
    else if (tx->head % UMP_TOUCH == 0)
        fin_ump_touch(tx);
}

static inline uint64_t ump_header(const struct ump_tx *tx, size_t size, uint32_t kind) {
    return (uint64_t)size << 32 | ump_lap(tx->head, tx->shift) | kind;
}

// Pre: there is room up to `next`, where the message after this one begins, and the bytes are in place.
static inline void ump_write_header(struct ump_tx *tx, char *line, uint64_t header, uint64_t next) {
    if (__builtin_expect(next < tx->dirty, 0))
        __atomic_store_n((uint64_t *)ump_line(tx->ring, next, tx->lines), 0, __ATOMIC_RELAXED);
    __atomic_store_n((uint64_t *)line, header, __ATOMIC_RELEASE);
    tx->head = next;
}

// After a header: rings if the receiver sleeps. Returns 0, or as fin_ump_ring.
static inline int ump_tell(struct ump_tx *tx) {
    if (tx->fence)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    else
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint64_t armed = __atomic_load_n(&tx->peer->armed, __ATOMIC_RELAXED);
    return __builtin_expect(armed != 0, 0) && armed != tx->rung ? fin_ump_ring(tx, armed) : 0;
}

static inline int ump_publish_at(struct ump_tx *tx, char *line, uint64_t header, uint64_t next) {
    ump_write_header(tx, line, header, next);
    return ump_tell(tx);
}

static inline int ump_publish(struct ump_tx *tx, size_t size, uint32_t kind) {
    char *line = ump_line(tx->ring, tx->head, tx->lines);
    return ump_publish_at(tx, line, ump_header(tx, size, kind), tx->head + ump_lines(size));
}

// Lines in a window of a ring of so many: powers of two.
static inline uint32_t ump_window(uint32_t lines) { return lines / 4 < UMP_WINDOW ? lines / 4 : UMP_WINDOW; }

static inline uint64_t ump_window_end(uint64_t position, uint32_t lines) {
    return (position | (ump_window(lines) - 1)) + 1;
}

// The header there, or 0 where none has arrived.
static inline uint64_t ump_look_once(const struct ump_rx *rx) {
    uint64_t h = __atomic_load_n((const uint64_t *)ump_line(rx->ring, rx->tail, rx->lines), __ATOMIC_ACQUIRE);
    return (((uint32_t)h ^ ump_lap(rx->tail, rx->shift)) & UMP_LAP) == 0 ? h : 0;
}

static inline size_t ump_size(uint64_t header) { return header >> 32; }

uint64_t fin_ump_skip(struct ump_rx *rx, uint64_t header);
void fin_ump_consumed(struct ump_rx *rx); // tells the sender how far it has come

// The header of the next message, or 0 where none has arrived.
static inline uint64_t ump_look(struct ump_rx *rx) {
    uint64_t h = ump_look_once(rx);
    return __builtin_expect((h & UMP_KIND) == UMP_SKIP, 0) ? fin_ump_skip(rx, h) : h;
}

// Of a message of that size.
static inline const char *ump_bytes(const struct ump_rx *rx, size_t size) {
    return ump_line(rx->ring, rx->tail, rx->lines) + ump_offset(size);
}

size_t fin_ump_acknowledge(struct ump_rx *rx, size_t size); // after a message; returns the size

// Goes on behind the message there. True: it is time to acknowledge.
static inline bool ump_go_on(struct ump_rx *rx, size_t size) {
    uint64_t tail = rx->tail + ump_lines(size);
    __atomic_store_n(&rx->tail, tail, __ATOMIC_RELAXED); // who sends at this end looks at it
    return __builtin_expect(tail >= rx->acknowledge_at, 0);
}

bool fin_ump_is_due(uint64_t *others_ran, uint64_t now, uint32_t lines);

// Any thread may look at a shared end.
static inline void ump_watch(struct ump_rx *rx, bool now) { __atomic_store_n(&rx->watched, now, __ATOMIC_RELAXED); }
static inline bool ump_watched(const struct ump_rx *rx) { return __atomic_load_n(&rx->watched, __ATOMIC_RELAXED); }
static inline bool ump_owes(const bool *owes) { return __builtin_expect(__atomic_load_n(owes, __ATOMIC_RELAXED), 0); }

// The message there, whose size is returned, was taken.
static inline size_t ump_taken(struct ump_rx *rx, size_t size) {
    return ump_go_on(rx, size) ? fin_ump_acknowledge(rx, size) : size;
}

#endif

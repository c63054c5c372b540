// SPDX-License-Identifier: BSD-2-Clause
// What the machine itself takes: lines that go from one processor to the other, by hand, and copies on one.
#include <sched.h>
#include <string.h>

#include "rows.h"

// Each on two lines, as neighbours are fetched together.
static struct {
    uint64_t word;
} __attribute__((aligned(128))) lines[2];

static void bare_near(void *n) {
    for (uint64_t i = 1; i <= *(uint64_t *)n; i++) {
        __atomic_store_n(&lines[0].word, i, __ATOMIC_RELEASE);
        while (__atomic_load_n(&lines[1].word, __ATOMIC_ACQUIRE) != i) {
        }
    }
}

static void bare_far(void *n) {
    for (uint64_t i = 1; i <= *(uint64_t *)n; i++) {
        while (__atomic_load_n(&lines[0].word, __ATOMIC_ACQUIRE) != i) {
        }
        __atomic_store_n(&lines[1].word, i, __ATOMIC_RELEASE);
    }
}

double trip_bare(long n) {
    lines[0].word = lines[1].word = 0;
    return two_sides(bare_near, bare_far, &n, n);
}

// The same with a message in the line, which is copied in and out: sixteen lines in turn, and a pause between looks.
enum { TURNS = 16 };
static struct {
    uint64_t number;
    char bytes[MESSAGE];
} __attribute__((aligned(64))) messages[2][TURNS];

static void put_message(int side, uint64_t i, const char *from) {
    memcpy(messages[side][i % TURNS].bytes, from, MESSAGE);
    __atomic_store_n(&messages[side][i % TURNS].number, i, __ATOMIC_RELEASE);
}

static void get_message(int side, uint64_t i, char *to) {
    while (__atomic_load_n(&messages[side][i % TURNS].number, __ATOMIC_ACQUIRE) != i) {
#if defined(__x86_64__)
        __asm__ volatile("pause");
#endif
    }
    memcpy(to, messages[side][i % TURNS].bytes, MESSAGE);
    __asm__ volatile("" : : "r"(to) : "memory");
}

static void message_near(void *n) {
    char p[MESSAGE] = {0};
    for (uint64_t i = 1; i <= *(uint64_t *)n; i++) {
        put_message(0, i, p);
        get_message(1, i, p);
    }
}

static void message_far(void *n) {
    char p[MESSAGE];
    for (uint64_t i = 1; i <= *(uint64_t *)n; i++) {
        get_message(0, i, p);
        put_message(1, i, p);
    }
}

double trip_message(long n) {
    memset(messages, 0, sizeof messages);
    return two_sides(message_near, message_far, &n, n);
}

// A ring of lines whose first word tells when they are there, and how far it has been read every quarter of it. As large as
// a channel's by default, or as a wide one's.
enum { RING = 1024, WIDE_RING = BENCH_WIDE / 64, SLOTS = RING * 64 / LARGE, WIDE_SLOTS = BENCH_WIDE / LARGE };

static struct {
    uint64_t words[8];
} __attribute__((aligned(64))) ring[WIDE_RING];
static uint64_t ring_size; // lines, or slots
static struct {
    struct {
        uint64_t number;
        char bytes[LARGE];
    } __attribute__((aligned(64))) slot[WIDE_SLOTS];
} large;
static struct {
    uint64_t read;
} __attribute__((aligned(128))) progress;

static void fill_lines(void *n) {
    const uint64_t size = ring_size;
    uint64_t free = size;
    for (uint64_t i = 0; i < *(uint64_t *)n; i++) {
        uint64_t *words = ring[i & (size - 1)].words;
        while (i >= free)
            free = __atomic_load_n(&progress.read, __ATOMIC_ACQUIRE) + size;
        for (int k = 1; k < 8; k++)
            words[k] = i;
        __atomic_store_n(words, i + 1, __ATOMIC_RELEASE);
    }
}

static void drain_lines(void *n) {
    const uint64_t size = ring_size;
    uint64_t to[8];
    for (uint64_t i = 0; i < *(uint64_t *)n; i++) {
        const uint64_t *words = ring[i & (size - 1)].words;
        while (__atomic_load_n(words, __ATOMIC_ACQUIRE) != i + 1) {
        }
        memcpy(to, words, sizeof to);
        __asm__ volatile("" : : "r"(to) : "memory");
        if (((i + 1) & (size / 4 - 1)) == 0)
            __atomic_store_n(&progress.read, i + 1, __ATOMIC_RELEASE);
    }
}

static double lines_through(uint64_t size, long n) {
    memset(ring, 0, sizeof ring);
    progress.read = 0;
    ring_size = size;
    return two_sides(fill_lines, drain_lines, &n, n);
}

double stream_bare(long n) { return lines_through(RING, n); }
double stream_bare_wide(long n) { return lines_through(WIDE_RING, n); }

static void fill_slots(void *n) {
    static char from[LARGE];
    const uint64_t size = ring_size;
    for (uint64_t i = 0; i < *(uint64_t *)n; i++) {
        while (i >= __atomic_load_n(&progress.read, __ATOMIC_ACQUIRE) + size) {
        }
        memcpy(large.slot[i & (size - 1)].bytes, from, LARGE);
        __atomic_store_n(&large.slot[i & (size - 1)].number, i + 1, __ATOMIC_RELEASE);
    }
}

static void drain_slots(void *n) {
    static char to[LARGE];
    const uint64_t size = ring_size;
    for (uint64_t i = 0; i < *(uint64_t *)n; i++) {
        while (__atomic_load_n(&large.slot[i & (size - 1)].number, __ATOMIC_ACQUIRE) != i + 1) {
        }
        memcpy(to, large.slot[i & (size - 1)].bytes, LARGE);
        __asm__ volatile("" : : "r"(to) : "memory");
        __atomic_store_n(&progress.read, i + 1, __ATOMIC_RELEASE);
    }
}

static double slots_through(uint64_t size, long n) {
    memset(&large, 0, sizeof large);
    progress.read = 0;
    ring_size = size;
    return two_sides(fill_slots, drain_slots, &n, n);
}

double stream_large_bare(long n) { return slots_through(SLOTS, n); }
double stream_large_bare_wide(long n) { return slots_through(WIDE_SLOTS, n); }

double stream_copy(long n) {
    static char from[LARGE], through[256 << 10], to[LARGE];
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++) {
        char *at = through + (size_t)i * LARGE % sizeof through;
        memcpy(at, from, LARGE);
        __asm__ volatile("" : : "r"(at) : "memory");
        memcpy(to, at, LARGE);
        __asm__ volatile("" : : "r"(to) : "memory");
    }
    return bench_since(start, (double)n);
}

double stream_fill(long n) {
    static char through[16 << 10] __attribute__((aligned(64)));
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++) {
        char *at = through + (size_t)i * LARGE % sizeof through;
        bench_fill(at, (uint64_t)i);
        bench_sum(at);
    }
    return bench_since(start, (double)n);
}

// The other way to an n:1 channel (htm 3.4): a sender claims its line by compare-and-swap, then fills it. A line says to
// whom it belongs by its number: of the message that may go there, and one more when it is there.
static struct {
    uint64_t number;
    uint64_t words[7];
} __attribute__((aligned(64))) claimed[RING];
static struct {
    uint64_t next;
} __attribute__((aligned(128))) claims;

enum { LOOKS = 200 }; // before one yields: whom one waits for may want this processor

void bench_claim_lines(uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        uint64_t mine = __atomic_load_n(&claims.next, __ATOMIC_RELAXED);
        for (int looks = 0;; looks++) {
            uint64_t number = __atomic_load_n(&claimed[mine % RING].number, __ATOMIC_ACQUIRE);
            if (number != mine)
                mine = __atomic_load_n(&claims.next, __ATOMIC_RELAXED);
            else if (__atomic_compare_exchange_n(&claims.next, &mine, mine + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                break;
            if (looks > LOOKS)
                sched_yield();
        }
        for (int k = 0; k < 7; k++)
            claimed[mine % RING].words[k] = i;
        __atomic_store_n(&claimed[mine % RING].number, mine + 1, __ATOMIC_RELEASE);
    }
}

void bench_drain_claimed(uint64_t n) {
    uint64_t to[7];
    for (uint64_t i = 0; i < n; i++) {
        for (int looks = 0; __atomic_load_n(&claimed[i % RING].number, __ATOMIC_ACQUIRE) != i + 1; looks++)
            if (looks > LOOKS)
                sched_yield();
        memcpy(to, claimed[i % RING].words, sizeof to);
        __asm__ volatile("" : : "r"(to) : "memory");
        __atomic_store_n(&claimed[i % RING].number, i + RING, __ATOMIC_RELEASE);
    }
}

void bench_claims_reset(void) {
    for (uint64_t i = 0; i < RING; i++)
        claimed[i].number = i;
    claims.next = 0;
}

static void claim_side(void *n) { bench_claim_lines(*(uint64_t *)n); }
static void drain_side(void *n) { bench_drain_claimed(*(uint64_t *)n); }

double stream_claimed(long n) {
    bench_claims_reset();
    return two_sides(claim_side, drain_side, &n, n);
}

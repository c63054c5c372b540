// SPDX-License-Identifier: BSD-2-Clause
// DPDK's rte_ring: one producer, one consumer. A line is four elements of 16 bytes, which its headers copy as vectors; what
// GCC makes at -O3 of their copy of one element of 64 bytes takes half as long again, in bursts more than twice as long.
#include "rows.h"

#if HAVE_RTE_RING
#include <stdlib.h>

#include <rte_ring.h>
#include <rte_ring_elem.h>

enum { ELEMENT = 16, PARTS = 4, SLOTS = 4096 * PARTS, BURST = 32 };

struct line {
    char bytes[PARTS * ELEMENT];
} __attribute__((aligned(64)));

static struct rte_ring *ring[2];

static void use(void) {
    for (int i = 0; i < 2 && !ring[i]; i++) {
        ssize_t size = BENCH_DID(rte_ring_get_memsize_elem(ELEMENT, SLOTS));
        BENCH_GOT(ring[i] = aligned_alloc(RTE_CACHE_LINE_SIZE, (size_t)size + 64 - (size_t)size % 64));
        BENCH_DID(rte_ring_init(ring[i], i ? "fin-bench-1" : "fin-bench-0", SLOTS, RING_F_SP_ENQ | RING_F_SC_DEQ));
    }
}

static void put(struct rte_ring *r, const struct line *l) {
    while (rte_ring_sp_enqueue_bulk_elem(r, l, ELEMENT, PARTS, NULL) == 0) {
    }
}

static void get(struct rte_ring *r, struct line *l) {
    while (rte_ring_sc_dequeue_bulk_elem(r, l, ELEMENT, PARTS, NULL) == 0) {
    }
    __asm__ volatile("" : : "r"(l) : "memory"); // it is read, as far as the compiler knows
}

static void ask(void *n) {
    struct line l = {0};
    for (long i = 0; i < *(long *)n; i++)
        put(ring[0], &l), get(ring[1], &l);
}

static void answer(void *n) {
    struct line l;
    for (long i = 0; i < *(long *)n; i++)
        get(ring[0], &l), put(ring[1], &l);
}

static void send_all(void *n) {
    struct line l = {0};
    for (long i = 0; i < *(long *)n; i++)
        put(ring[0], &l);
}

static void recv_all(void *n) {
    struct line l;
    for (long i = 0; i < *(long *)n; i++)
        get(ring[0], &l);
}

static void send_bursts(void *n) {
    struct line l[BURST] = {0};
    for (long i = 0; i < *(long *)n; i += BURST)
        for (unsigned done = 0; done < BURST * PARTS;)
            done += rte_ring_sp_enqueue_burst_elem(ring[0], (char *)l + done * ELEMENT, ELEMENT, BURST * PARTS - done, NULL);
}

static void recv_bursts(void *n) {
    struct line l[BURST];
    for (long i = 0; i < *(long *)n; i += BURST) {
        for (unsigned done = 0; done < BURST * PARTS;)
            done += rte_ring_sc_dequeue_burst_elem(ring[0], (char *)l + done * ELEMENT, ELEMENT, BURST * PARTS - done, NULL);
        __asm__ volatile("" : : "r"(l) : "memory");
    }
}

double trip_rte_ring(long n) {
    use();
    return two_sides(ask, answer, &n, n);
}

double stream_rte_ring(long n) {
    use();
    return two_sides(send_all, recv_all, &n, n);
}

double stream_rte_bursts(long n) {
    use();
    return two_sides(send_bursts, recv_bursts, &n, n);
}

const bool have_rte_ring = true;
#else
const bool have_rte_ring = false;
double trip_rte_ring(long n) { return (double)(0 * n); }
double stream_rte_ring(long n) { return (double)(0 * n); }
double stream_rte_bursts(long n) { return (double)(0 * n); }
#endif

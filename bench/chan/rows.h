// SPDX-License-Identifier: BSD-2-Clause
// Two threads, each on a processor of its own: what one repetition of a row runs.
#ifndef FIN_BENCH_CHAN_ROWS_H
#define FIN_BENCH_CHAN_ROWS_H

#include "../bench.h"

#ifdef __cplusplus
extern "C" {
#endif

// Runs far on the second processor and near on the first, both from the same moment on, each with a copy of the 8 bytes at
// arg, or of zeros. Returns cycles per operation of the near side, until both have ended.
double two_sides(void (*near)(void *), void (*far)(void *), const void *arg, long n);

// The near side may run on all processors again: what is started from here may, too.
void unpin(void);
void bench_pin(int n); // the calling thread, to the nth processor that we may use
void bench_pause(uint64_t ns);

// Bytes; the last two: of the rings of a narrow and of a wide channel.
enum { MESSAGE = 56, LARGE = 4096, BENCH_NARROW = 16 << 10, BENCH_WIDE = 256 << 10 };

// Round trips.
double trip_bare(long n);
double trip_message(long n); // by hand, with MESSAGE bytes in the line
double trip_pair(long n);
double trip_process(long n);
double trip_local(long n);
double trip_handed(long n); // by fin_chan_send_recv
double trip_after(long n, uint64_t ns); // to a receiver that nothing has come to for so long
double trip_asleep(long n);
double trip_futex(long n);
double trip_pipe(long n);
double trip_socket(long n);
double trip_zeromq(long n);
double trip_zeromq_ipc(long n);
double trip_rte_ring(long n);

// Calls (fin/rpc.h): one after the other; from 16 AWEs at a time; within a thread.
double call_sync(long n);
double call_many(long n);
double call_many_eager(long n);
double call_local(long n);

// Makes and uses what LARGE bytes hold.
static inline void bench_fill(void *bytes, uint64_t number) {
    __builtin_memset(bytes, (int)number, LARGE);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}
static inline void bench_sum(const void *bytes) {
    const uint64_t *words = (const uint64_t *)bytes;
    uint64_t sum = 0;
    for (int i = 0; i < LARGE / 8; i++)
        sum += words[i];
    __asm__ volatile("" : : "r"(sum));
}

// Messages one way.
double stream_chan(long n);
double stream_chan_wide(long n);
double stream_chan_narrow(long n);
double stream_in_place(long n);
double stream_large(long n);
double large_in_and_out(long n);
double stream_large_wide(long n);
double stream_large_in_place(long n); // made there, and used there
double stream_fill(long n);           // the same on one processor
double stream_shared(long n);         // at an end for several senders
double stream_claimed(long n);        // by hand: senders claim their lines by compare-and-swap

// Of bare.c: n messages by lines that are claimed; who finds no room, or nothing for long, yields.
void bench_claim_lines(uint64_t n);
void bench_drain_claimed(uint64_t n);
void bench_claims_reset(void);

// rows.c: its first end is for one who offers it with these flags, the other for one thread.
struct fin_chan;
void bench_chan_open(struct fin_chan **ends, unsigned flags);

// From so many threads to one.
#define BENCH_SENDERS(kind)                                                                                                 \
    double senders_##kind##_1(long n);                                                                                      \
    double senders_##kind##_2(long n);                                                                                      \
    double senders_##kind##_4(long n);                                                                                      \
    double senders_##kind##_8(long n);
BENCH_SENDERS(shared)
BENCH_SENDERS(locked)
BENCH_SENDERS(claimed)
double senders_own_1(long n);  // at an end of one thread
double senders_awes_8(long n); // four AWEs in each of two threads

double stream_copy(long n); // no message: memcpy of as many bytes, there and away
double stream_bare(long n); // by hand
double stream_bare_wide(long n);
double stream_large_bare(long n);
double stream_large_bare_wide(long n);
double stream_lockfree(long n);
double stream_zeromq(long n);
double stream_rte_ring(long n);
double stream_rte_bursts(long n);
double stream_pipe(long n);
double stream_socket(long n);
double stream_pipe_large(long n);

// An event among so many channels, or eventfds.
double waitset_1(long n);
double waitset_30(long n);
double waitset_1000(long n);
double epoll_1(long n);
double epoll_1000(long n);

void table_alerts(int channels, bool processes);
void table_beside(void);
void table_quiet(void);
int quiet_child(long n); // this program as `quiet N`: prints its part of that table
void table_interrupts(void);
void table_rtm(void);
void table_rtm_lines(void); // where there is RTM

extern const bool have_lockfree, have_zeromq, have_rte_ring;

#ifdef __cplusplus
}
#endif
#endif

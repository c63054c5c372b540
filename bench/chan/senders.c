// SPDX-License-Identifier: BSD-2-Clause
// n:1: several threads send to one, at a shared end, at an end of one thread behind a mutex, and by lines that they claim by
// compare-and-swap. More of them than processors: what counts is who runs, so nobody is pinned. The clock runs from the
// moment when all are there to the last message.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <fin.h>

#include "rows.h"

enum { MOST = 8 };

static struct {
    FIN_BLOCKING void (*send)(long n);
    long each; // of each of `awes` in each thread
    int awes, ready;
    bool go;
} senders;

static void send_part(void *unused) {
    (void)unused;
    senders.send(senders.each);
}

static void sending_thread(void *unused) {
    (void)unused;
    __atomic_add_fetch(&senders.ready, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&senders.go, __ATOMIC_ACQUIRE))
        sched_yield();
    fin_finish {
        for (int i = 0; i < senders.awes; i++)
            fin_async_call(send_part, NULL);
    }
}

// `receive` gets as many as were sent.
static FIN_BLOCKING double run(FIN_BLOCKING void (*send)(long), FIN_BLOCKING void (*receive)(long), int threads, int awes,
                               long n) {
    struct fin_thread_handle t[MOST];
    unpin();
    senders.send = send;
    senders.each = n / threads / awes;
    senders.awes = awes;
    senders.ready = 0;
    senders.go = false;
    for (int i = 0; i < threads; i++)
        BENCH_DID(fin_thread_start(&t[i], sending_thread, NULL));
    while (__atomic_load_n(&senders.ready, __ATOMIC_ACQUIRE) < threads)
        sched_yield();
    uint64_t start = bench_ticks();
    __atomic_store_n(&senders.go, true, __ATOMIC_RELEASE);
    long sent = senders.each * threads * awes;
    receive(sent);
    double result = bench_since(start, (double)sent);
    for (int i = 0; i < threads; i++)
        BENCH_DID(fin_thread_join(&t[i]));
    return result;
}

static struct fin_chan *ends[2];

static void use(struct fin_chan **kept, unsigned flags) {
    if (!kept[0])
        bench_chan_open(kept, flags);
    ends[0] = kept[0];
    ends[1] = kept[1];
}

static FIN_BLOCKING void receive_all(long n) {
    char to[MESSAGE];
    for (long i = 0; i < n; i++)
        BENCH_MUST(fin_chan_recv(ends[1], to, sizeof to) == sizeof to);
}

static FIN_BLOCKING void send_all(long n) {
    char from[MESSAGE] = {0};
    for (long i = 0; i < n; i++)
        BENCH_MUST(fin_chan_send(ends[0], from, sizeof from) == 0);
}

// Not for programs: the header allows one thread at such an end. What does not wait knows no thread.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static FIN_BLOCKING void send_locked(long n) {
    char from[MESSAGE] = {0};
    for (long i = 0; i < n; i++) {
        int r;
        do {
            pthread_mutex_lock(&mutex);
            r = fin_chan_try_send(ends[0], from, sizeof from);
            pthread_mutex_unlock(&mutex);
            if (r == -EAGAIN)
                sched_yield();
            else
                BENCH_DID(r);
        } while (r != 0);
    }
}

static FIN_BLOCKING void claim_all(long n) { bench_claim_lines((uint64_t)n); }
static FIN_BLOCKING void drain_all(long n) { bench_drain_claimed((uint64_t)n); }

static double shared(int threads, int awes, long n) {
    static struct fin_chan *kept[2];
    use(kept, FIN_CHAN_SHARED);
    return run(send_all, receive_all, threads, awes, n);
}

static double locked(int threads, long n) {
    static struct fin_chan *kept[2];
    use(kept, 0);
    return run(send_locked, receive_all, threads, 1, n);
}

static double claimed(int threads, long n) {
    bench_claims_reset();
    return run(claim_all, drain_all, threads, 1, n);
}

double senders_own_1(long n) {
    static struct fin_chan *kept[2];
    use(kept, 0);
    return run(send_all, receive_all, 1, 1, n);
}

double senders_shared_1(long n) { return shared(1, 1, n); }
double senders_shared_2(long n) { return shared(2, 1, n); }
double senders_shared_4(long n) { return shared(4, 1, n); }
double senders_shared_8(long n) { return shared(8, 1, n); }
double senders_awes_8(long n) { return shared(2, 4, n); }
double senders_locked_1(long n) { return locked(1, n); }
double senders_locked_2(long n) { return locked(2, n); }
double senders_locked_4(long n) { return locked(4, n); }
double senders_locked_8(long n) { return locked(8, n); }
double senders_claimed_1(long n) { return claimed(1, n); }
double senders_claimed_2(long n) { return claimed(2, n); }
double senders_claimed_4(long n) { return claimed(4, n); }
double senders_claimed_8(long n) { return claimed(8, n); }

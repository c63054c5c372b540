// SPDX-License-Identifier: BSD-2-Clause
// Fin's rows, and what runs a row.
#define _GNU_SOURCE
#include "rows.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fin.h>

static struct fin_chan *ends[2];
static long count;

static cpu_set_t all; // processors that we may use

void unpin(void) {
    if (CPU_COUNT(&all) > 0)
        BENCH_SYS(sched_setaffinity(0, sizeof all, &all));
}

// To the nth of them.
void bench_pin(int n) {
    if (CPU_COUNT(&all) == 0)
        BENCH_SYS(sched_getaffinity(0, sizeof all, &all));
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all) || n-- > 0)
            continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        BENCH_SYS(sched_setaffinity(0, sizeof one, &one));
        return;
    }
    bench_failed("there are not so many processors", __FILE__, __LINE__, 0);
}

void bench_pause(uint64_t ns) {
    uint64_t until = fin_now() + ns;
    while (fin_now() < until) {
    }
}

// The far side is one thread, which sleeps between its turns: what a thread costs at its beginning and end is in no row.
enum { IDLE, CALLED, READY, GO };

static struct {
    void (*fn)(void *);
    void *arg;
    uint32_t state;
} partner;

static void await_state(uint32_t state) {
    while (__atomic_load_n(&partner.state, __ATOMIC_ACQUIRE) != state) {
    }
}

static FIN_BLOCKING void *far_side(void *unused) {
    bench_pin(1);
    fin_yield(); // the thread has its runtime
    for (;;) {
        while (__atomic_load_n(&partner.state, __ATOMIC_ACQUIRE) == IDLE)
            syscall(SYS_futex, &partner.state, FUTEX_WAIT_PRIVATE, IDLE, NULL, NULL, 0);
        __atomic_store_n(&partner.state, READY, __ATOMIC_RELEASE);
        await_state(GO); // who came first would sleep, and have to be woken
        partner.fn(partner.arg);
        __atomic_store_n(&partner.state, IDLE, __ATOMIC_RELEASE);
    }
    return unused;
}

static void begin_far_side(void) {
    static pthread_t t;
    if (!t)
        BENCH_DID(-pthread_create(&t, NULL, far_side, NULL));
}

// What both sides read for each message, by itself: in the caller's frame it would share a line, or the next, which is
// fetched along, with what the near side writes in its frames. That took up to half of a round trip.
static struct {
    uint64_t value;
    char rest[248];
} given __attribute__((aligned(256)));

double two_sides(void (*near)(void *), void (*far)(void *), const void *arg, long n) {
    begin_far_side();
    bench_pin(0);
    count = n;
    given.value = arg ? *(const uint64_t *)arg : 0;
    partner.fn = far;
    partner.arg = &given;
    __atomic_store_n(&partner.state, CALLED, __ATOMIC_RELEASE);
    syscall(SYS_futex, &partner.state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    while (__atomic_load_n(&partner.state, __ATOMIC_ACQUIRE) != READY)
        sched_yield();
    __atomic_store_n(&partner.state, GO, __ATOMIC_RELEASE);
    uint64_t start = bench_ticks();
    near(&given);
    await_state(IDLE);
    return bench_since(start, (double)n);
}

static void ask(void *n) {
    char p[MESSAGE] = {0};
    for (long i = 0; i < *(long *)n; i++)
        BENCH_MUST(fin_chan_send(ends[0], p, sizeof p) == 0 && fin_chan_recv(ends[0], p, sizeof p) == sizeof p);
}

static void answer(void *n) {
    char p[MESSAGE];
    for (long i = 0; i < *(long *)n; i++)
        BENCH_MUST(fin_chan_recv(ends[1], p, sizeof p) == sizeof p && fin_chan_send(ends[1], p, sizeof p) == 0);
}

// A channel of each sort is opened once: what is measured is not its first use.
static void use(struct fin_chan **kept, unsigned flags, size_t size) {
    if (!kept[0])
        BENCH_DID(fin_chan_pair(&kept[0], &kept[1], &(struct fin_chan_options){size, flags}));
    ends[0] = kept[0];
    ends[1] = kept[1];
}

double trip_pair(long n) {
    static struct fin_chan *kept[2];
    use(kept, 0, 0);
    return two_sides(ask, answer, &n, n);
}

void bench_chan_open(struct fin_chan **opened, unsigned flags) {
    int fd[2];
    BENCH_SYS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd));
    BENCH_DID(fin_chan_offer(&opened[0], fd[0], &(struct fin_chan_options){0, flags}));
    BENCH_DID(fin_chan_take(&opened[1], fd[1], 0));
}

double trip_process(long n) {
    static struct fin_chan *kept[2];
    if (!kept[0])
        bench_chan_open(kept, 0);
    use(kept, 0, 0);
    return two_sides(ask, answer, &n, n);
}

double trip_local(long n) {
    static struct fin_chan *kept[2];
    use(kept, FIN_CHAN_LOCAL, 0);
    uint64_t start = bench_ticks();
    fin_finish {
        fin_async_call(answer, &n);
        ask(&n);
    }
    return bench_since(start, (double)n);
}

static void ask_at_once(void *n) {
    char p[MESSAGE] = {0};
    for (long i = 0; i < *(long *)n; i++)
        BENCH_MUST(fin_chan_send_recv(ends[0], p, sizeof p, p, sizeof p) == sizeof p);
}

static void answer_at_once(void *n) {
    char p[MESSAGE];
    BENCH_MUST(fin_chan_recv(ends[1], p, sizeof p) == sizeof p);
    for (long i = 1; i < *(long *)n; i++)
        BENCH_MUST(fin_chan_send_recv(ends[1], p, sizeof p, p, sizeof p) == sizeof p);
    BENCH_MUST(fin_chan_send(ends[1], p, sizeof p) == 0);
}

double trip_handed(long n) {
    static struct fin_chan *kept[2];
    use(kept, FIN_CHAN_LOCAL, 0);
    uint64_t start = bench_ticks();
    fin_finish {
        fin_async_call(answer_at_once, &n);
        ask_at_once(&n);
    }
    return bench_since(start, (double)n);
}

static uint64_t quiet, trips; // ns before each; ticks of all

static void ask_after(void *n) {
    char p[MESSAGE] = {0};
    trips = 0;
    for (long i = 0; i < *(long *)n; i++) {
        bench_pause(quiet);
        uint64_t start = bench_ticks();
        BENCH_MUST(fin_chan_send(ends[0], p, sizeof p) == 0);
        while (fin_chan_try_recv(ends[0], p, sizeof p) != sizeof p) {
        }
        trips += bench_ticks() - start;
    }
}

double trip_after(long n, uint64_t ns) {
    static struct fin_chan *kept[2];
    use(kept, 0, 0);
    quiet = ns;
    two_sides(ask_after, answer, &n, n);
    return (double)trips * BENCH_CYCLES_PER_TICK / (double)n;
}

double trip_asleep(long n) { return trip_after(n, 200000); } // ns: the other side sleeps by then

static void send_all(void *size) {
    char p[LARGE] = {0};
    for (long i = 0; i < count; i++)
        BENCH_MUST(fin_chan_send(ends[0], p, *(size_t *)size) == 0);
}

static void recv_all(void *size) {
    char p[LARGE];
    for (long i = 0; i < count; i++)
        BENCH_MUST(fin_chan_recv(ends[1], p, sizeof p) == (ssize_t) * (size_t *)size);
}

static double stream(void (*near)(void *), void (*far)(void *), size_t size, long n) {
    static struct fin_chan *kept[2];
    count = n;
    use(kept, 0, 0);
    return two_sides(near, far, &size, n);
}

double stream_chan(long n) { return stream(send_all, recv_all, MESSAGE, n); }
double stream_large(long n) { return stream(send_all, recv_all, LARGE, n); }

// Both ends in one hand: what is left when no line goes from one processor to another.
double large_in_and_out(long n) {
    static struct fin_chan *kept[2];
    static char from[LARGE], to[LARGE];
    use(kept, 0, 0);
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++) {
        BENCH_MUST(fin_chan_send(ends[0], from, sizeof from) == 0);
        BENCH_MUST(fin_chan_recv(ends[1], to, sizeof to) == LARGE);
    }
    return bench_since(start, (double)n);
}

static double stream_wide(size_t size, long n) {
    static struct fin_chan *kept[2];
    count = n;
    use(kept, 0, BENCH_WIDE);
    return two_sides(send_all, recv_all, &size, n);
}

double stream_chan_narrow(long n) {
    static struct fin_chan *kept[2];
    size_t size = MESSAGE;
    count = n;
    use(kept, 0, BENCH_NARROW);
    return two_sides(send_all, recv_all, &size, n);
}

double stream_chan_wide(long n) { return stream_wide(MESSAGE, n); }
double stream_large_wide(long n) { return stream_wide(LARGE, n); }

static void fill_all(void *size) {
    void *room;
    for (long i = 0; i < count; i++) {
        BENCH_MUST(fin_chan_reserve(ends[0], *(size_t *)size, &room) == 0);
        memset(room, 0, MESSAGE);
        fin_chan_commit(ends[0], *(size_t *)size);
    }
}

static void peek_all(void *size) {
    const void *bytes;
    for (long i = 0; i < count; i++) {
        BENCH_MUST(fin_chan_peek(ends[1], &bytes) == (ssize_t) * (size_t *)size);
        fin_chan_release(ends[1]);
    }
}

double stream_in_place(long n) { return stream(fill_all, peek_all, MESSAGE, n); }

static void fill_pages(void *unused) {
    void *room;
    (void)unused;
    for (long i = 0; i < count; i++) {
        BENCH_MUST(fin_chan_reserve(ends[0], LARGE, &room) == 0);
        bench_fill(room, (uint64_t)i);
        fin_chan_commit(ends[0], LARGE);
    }
}

static void sum_pages(void *unused) {
    const void *bytes;
    (void)unused;
    for (long i = 0; i < count; i++) {
        BENCH_MUST(fin_chan_peek(ends[1], &bytes) == LARGE);
        bench_sum(bytes);
        fin_chan_release(ends[1]);
    }
}

double stream_large_in_place(long n) { return stream(fill_pages, sum_pages, LARGE, n); }

double stream_shared(long n) {
    static struct fin_chan *kept[2];
    size_t size = MESSAGE;
    if (!kept[0])
        bench_chan_open(kept, FIN_CHAN_SHARED);
    count = n;
    use(kept, 0, 0);
    return two_sides(send_all, recv_all, &size, n);
}

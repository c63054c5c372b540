// SPDX-License-Identifier: BSD-2-Clause
// A thread of the library looks at all runtimes: where each sleeps, none has anything to do or expects anything of the
// kernel or a timer, and the process has no other threads, nobody is left who could wake one. What is expected of the pool
// does not come where all of its threads sleep so, too. Each thread notes what it expects before it sleeps; beyond that this
// costs the threads nothing.
//
// Those who wait for one another in a cycle of mutexes and finish blocks are told of in any process: where all threads sleep
// at a look, and have not moved when it is over, what it has read was so.
#define _GNU_SOURCE
#include "host/linux/stuck.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "core/locks.h"
#include "host/linux/quiet.h"
#include "own_thread.h"

enum { LOOKS = 5, NS_PER_MS = 1000000 };

bool fin_host_stuck;
static long limit_ms;

// No more than a look, for threads that lock mutexes and have no AWEs.
bool fin_host_stuck_wanted(void) {
    static enum { UNKNOWN, WANTED, NOT_WANTED } known;
    int now = __atomic_load_n((int *)&known, __ATOMIC_RELAXED);
    if (now == UNKNOWN) {
        now = getenv("FIN_STUCK_MS") ? WANTED : NOT_WANTED;
        __atomic_store_n((int *)&known, now, __ATOMIC_RELAXED);
    }
    return now == WANTED;
}

// Where a process may not look at itself: in some containers, and under qemu's user mode.
static bool read_by_pipe(void *to, const void *from, size_t size) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    // Not by write(3), where a sanitizer looks at what is written.
    bool done = syscall(SYS_write, ends[1], from, size) == (ssize_t)size && read(ends[0], to, size) == (ssize_t)size;
    close(ends[0]);
    close(ends[1]);
    return done;
}

bool fin_host_read(void *to, const void *from, size_t size) {
    struct iovec here = {to, size}, there = {(void *)(uintptr_t)from, size};
    ssize_t n = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    return n == (ssize_t)size || (n < 0 && fin_host_denied(-errno) && read_by_pipe(to, from, size));
}

// No locks: where one of them moves meanwhile, the next look sees another sum. It expects no more than `most`.
__attribute__((no_sanitize("thread"))) static bool asleep(const struct fin_runtime *rt, uint32_t most) {
    const volatile struct fin_runtime *v = rt;
    uint32_t expects = v->monitored ? FIN_EXPECTS_MORE : v->expects;
    return v->asleep && expects <= most && !v->inbox && !v->alerted && v->queue.next == &rt->queue;
}

// How many there are, if all are; otherwise 0. With a sum of what has happened so far.
__attribute__((no_sanitize("thread"))) static unsigned all_asleep(uint32_t most, uint64_t *sum) {
    unsigned sleepers = 0;
    *sum = 0;
    for (const struct fin_runtime *rt = __atomic_load_n(&fin_runtimes, __ATOMIC_ACQUIRE); rt; rt = rt->next) {
        *sum += rt->stats.slept + rt->stats.detached + rt->stats.suspended + rt->ticks;
        if (!__atomic_load_n(&rt->in_use, __ATOMIC_ACQUIRE))
            continue;
        if (!asleep(rt, most))
            return 0;
        sleepers++;
    }
    return sleepers;
}

// All that the process has; 0: it is not known. Each is a directory in this one, which has a link for it, besides two of its
// own: to ask for them takes no descriptor, of which a stuck process may have none left.
static unsigned threads(void) {
    struct stat s;
    return stat("/proc/self/task", &s) == 0 && s.st_nlink > 2 ? (unsigned)s.st_nlink - 2 : 0;
}

// Is nobody left who may wake one, outside Fin or at work for the pool? Either none of the pool's threads is among the
// sleepers, and they expect nothing of it, or all are.
static bool nobody_else(unsigned sleepers) {
    uint64_t sum;
    unsigned all = threads(), own = fin_own_threads();
    return all == sleepers + own ? all_asleep(FIN_EXPECTS_NOTHING, &sum)
                                 : all == sleepers + own - fin_own_threads_of_pool();
}

static bool any_locked(void) {
    for (const struct fin_runtime *rt = __atomic_load_n(&fin_runtimes, __ATOMIC_ACQUIRE); rt; rt = rt->next)
        if (__atomic_load_n(&rt->in_use, __ATOMIC_ACQUIRE) && fin_holds_count(rt))
            return true;
    return false;
}

// The same one at so many looks, whatever else happens between them. Each is told once. Where nothing has moved since the
// last look there is nothing new to see, but another one behind one that was told. Without locks there are none any more.
static void look_for_cycle(void) {
    static uint64_t found, seen;
    static int looks;
    uint64_t sum, after, now = found;
    if (!all_asleep(FIN_EXPECTS_MORE, &sum))
        return;
    bool locked = any_locked();
    if (sum != seen)
        now = locked ? fin_stuck_cycle() : 0;
    if (!all_asleep(FIN_EXPECTS_MORE, &after) || after != sum)
        return;
    if (!locked)
        fin_stuck_forget();
    looks = now && now == found ? looks + 1 : 0;
    found = now;
    seen = sum;
    if (looks != LOOKS || fin_stuck_cycle() != now)
        return;
    fin_stuck_print_cycle(limit_ms);
    seen = 0;
}

static uint64_t time_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 * NS_PER_MS + (uint64_t)t.tv_nsec;
}

// As long as the looks are apart, and ten times as long as the last one took.
static void pause_for(uint64_t took_ns) {
    uint64_t least = (uint64_t)limit_ms / LOOKS * NS_PER_MS, ns = 10 * took_ns > least ? 10 * took_ns : least;
    nanosleep(&(struct timespec){(time_t)(ns / (1000 * NS_PER_MS)), (long)(ns % (1000 * NS_PER_MS))}, NULL);
}

static void watch(void) {
    uint64_t before = 0, sum, took = 0;
    int looks = 0;
    for (;;) {
        pause_for(took);
        uint64_t begun = time_ns();
        unsigned sleepers = all_asleep(FIN_EXPECTS_POOL, &sum);
        bool still = sleepers && sum == before && nobody_else(sleepers);
        before = sum;
        looks = still ? looks + 1 : 0;
        if (looks == LOOKS)
            fin_stuck_print(limit_ms);
        if (!still)
            look_for_cycle();
        took = time_ns() - begun;
    }
}

static void tell_locked(const struct fin_runtime *rt, const char *how) {
    unsigned held = fin_host_stuck ? fin_holds_count(rt) : 0;
    if (!held)
        return;
    struct fin_quiet q = fin_be_quiet();
    fprintf(stderr, "fin: thread %d %s, and %u mutex%s that its AWEs locked %s still locked\n", rt->tid, how, held,
            held == 1 ? "" : "es", held == 1 ? "is" : "are");
    fin_be_as_before(&q);
}

void fin_stuck_thread_ends(const struct fin_runtime *rt) { tell_locked(rt, "ends"); }

// The others run on until the process is gone, and may have locks for good reason.
static void at_exit(void) {
    if (fin_self)
        tell_locked(fin_rt(fin_self), "calls exit");
}

void fin_stuck_begin(void) {
    static const struct fin_own_thread thread = {.name = "fin-stuck", .run = watch};
    const char *text = getenv("FIN_STUCK_MS");
    char *end;
    if (!text)
        return;
    limit_ms = strtol(text, &end, 10);
    if (end == text || *end || limit_ms < LOOKS || limit_ms > 1000000)
        fin_host_die("FIN_STUCK_MS is not a number of milliseconds");
    fin_host_stuck = true;
    if (fin_own_thread_start(&thread) != 0)
        fin_host_die("FIN_STUCK_MS: the system refuses a thread for it");
    atexit(at_exit);
}

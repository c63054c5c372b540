// SPDX-License-Identifier: BSD-2-Clause
// What the system has: pipes, Unix sockets, futexes.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fin/time.h>

#include "rows.h"

static int to[2], from[2]; // [0] is read, [1] is written
static long count;
static size_t size = 64;

static void read_all(int fd, char *p) {
    for (size_t done = 0; done < size;) {
        ssize_t n = read(fd, p + done, size - done);
        BENCH_GOT(n > 0);
        done += (size_t)n;
    }
}

static void ask(void *unused) {
    char p[LARGE] = {0};
    (void)unused;
    for (long i = 0; i < count; i++) {
        BENCH_GOT(write(to[1], p, size) == (ssize_t)size);
        read_all(from[0], p);
    }
}

static void answer(void *unused) {
    char p[LARGE];
    (void)unused;
    for (long i = 0; i < count; i++) {
        read_all(to[0], p);
        BENCH_GOT(write(from[1], p, size) == (ssize_t)size);
    }
}

static void send_all(void *unused) {
    char p[LARGE] = {0};
    (void)unused;
    for (long i = 0; i < count; i++)
        BENCH_GOT(write(to[1], p, size) == (ssize_t)size);
}

static void recv_all(void *unused) {
    char p[LARGE];
    (void)unused;
    for (long i = 0; i < count; i++)
        read_all(to[0], p);
}

static double over_pipes(void (*near)(void *), void (*far)(void *), size_t bytes, long n) {
    BENCH_SYS(pipe(to));
    BENCH_SYS(pipe(from));
    count = n;
    size = bytes;
    double r = two_sides(near, far, NULL, n);
    for (int i = 0; i < 2; i++)
        close(to[i]), close(from[i]);
    return r;
}

static double over_sockets(void (*near)(void *), void (*far)(void *), long n) {
    int s[2];
    BENCH_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
    to[1] = from[0] = s[0];
    to[0] = from[1] = s[1];
    count = n;
    size = 64;
    double r = two_sides(near, far, NULL, n);
    close(s[0]);
    close(s[1]);
    return r;
}

double trip_pipe(long n) { return over_pipes(ask, answer, 64, n); }
double trip_socket(long n) { return over_sockets(ask, answer, n); }
double stream_pipe(long n) { return over_pipes(send_all, recv_all, 64, n); }
double stream_pipe_large(long n) { return over_pipes(send_all, recv_all, LARGE, n); }
double stream_socket(long n) { return over_sockets(send_all, recv_all, n); }

// A waiter that sleeps in a futex of this process, and answers by a store that is polled for.
static uint32_t question, reply;

static void futex_far(void *unused) {
    (void)unused;
    for (uint32_t i = 0; i < (uint32_t)count; i++) {
        while (__atomic_load_n(&question, __ATOMIC_ACQUIRE) == i)
            syscall(SYS_futex, &question, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
        __atomic_store_n(&reply, i + 1, __ATOMIC_RELEASE);
    }
}

static uint64_t asleep;

static void futex_near(void *unused) {
    (void)unused;
    for (uint32_t i = 0; i < (uint32_t)count; i++) {
        uint64_t until = fin_now() + 200000;
        while (fin_now() < until) {
        }
        uint64_t start = bench_ticks();
        __atomic_store_n(&question, i + 1, __ATOMIC_RELEASE);
        syscall(SYS_futex, &question, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        while (__atomic_load_n(&reply, __ATOMIC_ACQUIRE) != i + 1) {
        }
        asleep += bench_ticks() - start;
    }
}

double trip_futex(long n) {
    count = n;
    question = reply = 0;
    asleep = 0;
    two_sides(futex_near, futex_far, NULL, n);
    return (double)asleep * BENCH_CYCLES_PER_TICK / (double)n;
}

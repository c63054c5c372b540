// SPDX-License-Identifier: BSD-2-Clause
// Messages of 56 bytes between two processes by MPI: `PROGRAM trip|stream N` prints ticks of the processor's counter for a
// round trip, or a message one way: the median of repetitions of N, and its 5-95% range.
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 56, REPETITIONS = 101, EVERY = 64 };

static int rank;
static char message[SIZE];

static uint64_t ticks(void) {
#if defined(__x86_64__)
    uint32_t lo, hi;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi)::"memory");
    return (uint64_t)hi << 32 | lo;
#else
    uint64_t t;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(t)::"memory");
    return t;
#endif
}

static void pin(int n) {
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all) || n-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

static void send(void) { MPI_Send(message, SIZE, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD); }
static void receive(void) { MPI_Recv(message, SIZE, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

static void trips(long n) {
    for (long i = 0; i < n; i++) {
        if (rank == 0) {
            send();
            receive();
        } else {
            receive();
            send();
        }
    }
}

// An answer now and then keeps what is under way from growing without end.
static void stream(long n) {
    for (long i = 1; i <= n; i++) {
        (rank == 0 ? send : receive)();
        if (i % EVERY == 0 || i == n)
            (rank == 0 ? receive : send)();
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    double samples[REPETITIONS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3)
        return fprintf(stderr, "usage: %s trip|stream N\n", argv[0]), MPI_Finalize(), 2;
    long n = atol(argv[2]);
    pin(rank);
    for (int i = -1; i < REPETITIONS; i++) { // the first warms up
        MPI_Barrier(MPI_COMM_WORLD);
        uint64_t start = ticks();
        (strcmp(argv[1], "trip") == 0 ? trips : stream)(n);
        samples[i < 0 ? 0 : i] = (double)(ticks() - start) / (double)n;
    }
    qsort(samples, REPETITIONS, sizeof *samples, compare);
    if (rank == 0)
        printf("%.1f %.1f %.1f\n", samples[REPETITIONS / 2], samples[REPETITIONS / 20], samples[REPETITIONS * 19 / 20]);
    MPI_Finalize();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// The harness of the benchmarks. A table's rows are measured in turns (A B C A B C ...), so that what disturbs the machine
// disturbs all of them alike; what is reported is the median of the repetitions and their 5-95% range. A row may have a
// target: at most so many times another row, or at most so much. Speed never fails a run: the table says what was met. What
// a benchmark needs and does not get, a call that fails, ends it: it prints no figure of what has not run.
#ifndef FIN_BENCH_H
#define FIN_BENCH_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__x86_64__)
#define BENCH_CYCLES_PER_TICK 1.0 // the unit is the cycle of the time stamp counter, as in the papers
static inline uint64_t bench_ticks(void) {
    uint32_t lo, hi;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi)::"memory");
    return (uint64_t)hi << 32 | lo;
}
// For an interval of few instructions: nothing is moved across it.
static inline uint64_t bench_ticks_fenced(void) {
    uint32_t lo, hi;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(lo), "=d"(hi)::"memory");
    return (uint64_t)hi << 32 | lo;
}
#elif defined(__aarch64__)
#define BENCH_CYCLES_PER_TICK bench_core_cycles_per_tick // the counter is too slow to be a unit
static inline uint64_t bench_ticks(void) {
    uint64_t t;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(t)::"memory");
    return t;
}
static inline uint64_t bench_ticks_fenced(void) { return bench_ticks(); }
#endif

extern double bench_core_cycles_per_tick; // of the core, measured at the start by a chain of additions
extern double bench_ticks_per_ns;

// Cycles per operation, of `operations` since `start`.
static inline double bench_since(uint64_t start, double operations) {
    return (double)(bench_ticks() - start) * BENCH_CYCLES_PER_TICK / operations;
}

struct bench_options {
    bool quick;
    const char *table, *csv, *rivals;
};
extern struct bench_options bench_options;

// Takes the option at argv[*i], with its value, if it is one of those above.
bool bench_option(char **argv, int *i);

enum { BENCH_REPETITIONS = 301, BENCH_QUICK = 41 };

struct bench_row {
    const char *name;
    double (*run)(long n); // one repetition, of n operations: its result, per operation
    long n;
    const char *published; // what papers or others measured for the like, or NULL
    int base;              // 1 + the row that this one is compared with; 0: none
    double times;          // target: at most so many times the base; 0: none
    double at_most;        // target: at most this; 0: none
    double *samples;
    double median, lo, hi; // of bench_range
};

// How often has the system taken the processor away from this thread so far? What is measured meanwhile says nothing.
long bench_preemptions(void);

// Measures the rows in turns. The first repetition of each warms it up and is forgotten.
void bench_measure(struct bench_row *rows, size_t count);
// Prints them as an aligned table and, where asked for, to the CSV file.
void bench_print(const char *table, const char *title, const char *unit, const struct bench_row *rows, size_t count);

// The two together, with the samples' memory.
void bench_table(const char *table, const char *title, const char *unit, struct bench_row *rows, size_t count);

// For tables of another shape. Values go to the CSV file as table,row,column,value.
void bench_csv(const char *table, const char *row, const char *column, double value);
// Sorts; then bench_at(sorted, n, 0.5) is the median.
void bench_sort(double *samples, size_t n);
double bench_at(const double *sorted, size_t n, double quantile);
// The 5-95% range: between them lie nine in ten of them or more, and no more than one in twenty on either side. So of less
// than twenty it is all.
void bench_range(const double *sorted, size_t n, double *lo, double *hi);
// Is the range so wide that the median means little?
bool bench_noisy(double median, double lo, double hi);

// The machine, the compiler, the clock; measures the clock.
void bench_begin(const char *program);
// Returns the status to end with: 1 where what was measured could not be written.
int bench_end(void);

// A line for a rival that this machine cannot run.
void bench_skip(const char *row, const char *why);

// Runs a rival of bench/rivals, or with NULL this program, as PROGRAM WHAT N, and reads the numbers that it prints. Rivals
// lie in rivals/ beside the folder of this program, where --rivals does not say otherwise. Returns NULL, or why there are no
// numbers, until the next call; this program must not fail.
const char *bench_rival(const char *program, const char *what, long n, double *values, int count);

// Says what failed, where, and the error, if it is not 0; ends the process with status 1.
__attribute__((noreturn, cold)) void bench_failed(const char *what, const char *file, int line, long error);
long bench_did(long result, const char *what, const char *file, int line);
long bench_sys(long result, const char *what, const char *file, int line);

// Calls that must not fail: those that return a negative errno; those that return -1 and set errno; what must be so of the
// result of one that sets errno; what must be so, and if not, errno does not say why. The first two have the call's result,
// an integer.
#define BENCH_DID(...) bench_did((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define BENCH_SYS(...) bench_sys((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define BENCH_GOT(...) ((__VA_ARGS__) ? (void)0 : bench_failed(#__VA_ARGS__, __FILE__, __LINE__, errno))
#define BENCH_MUST(...) ((__VA_ARGS__) ? (void)0 : bench_failed("not so: " #__VA_ARGS__, __FILE__, __LINE__, 0))

#define BENCH_COUNT(rows) (sizeof(rows) / sizeof *(rows))

#ifdef __cplusplus
}
#endif
#endif

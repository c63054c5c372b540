// SPDX-License-Identifier: BSD-2-Clause
#define _GNU_SOURCE
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/utsname.h>

enum { ATTEMPTS = 20 };

double bench_core_cycles_per_tick = 1, bench_ticks_per_ns = 1;
struct bench_options bench_options;

bool bench_option(char **argv, int *i) {
    const char *option = argv[*i];
    if (strcmp(option, "--quick") == 0)
        return bench_options.quick = true;
    const char **value = strcmp(option, "--csv") == 0      ? &bench_options.csv
                         : strcmp(option, "--table") == 0  ? &bench_options.table
                         : strcmp(option, "--rivals") == 0 ? &bench_options.rivals
                                                           : NULL;
    if (!value || !argv[*i + 1])
        return false;
    *value = argv[++*i];
    return true;
}
static FILE *csv;
static long retaken;

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_sort(double *samples, size_t n) { qsort(samples, n, sizeof *samples, compare); }

double bench_at(const double *sorted, size_t n, double quantile) {
    return sorted[(size_t)(quantile * (double)(n - 1) + 0.5)];
}

bool bench_noisy(double median, double lo, double hi) { return hi - lo > 0.25 * median; }

long bench_preemptions(void) {
    struct rusage u;
    return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nivcsw : 0;
}

// A repetition during which the system took the processor away says nothing: it is taken again.
static double undisturbed(const struct bench_row *row) {
    for (int attempts = 0;; attempts++) {
        long before = bench_preemptions();
        double result = row->run(row->n);
        if (attempts == ATTEMPTS || bench_preemptions() == before)
            return result;
        retaken++;
    }
}

void bench_measure(struct bench_row *rows, size_t count) {
    size_t repetitions = bench_options.quick ? BENCH_QUICK : BENCH_REPETITIONS;
    for (size_t i = 0; i < count; i++) {
        rows[i].samples = malloc(repetitions * sizeof(double));
        if (!rows[i].samples)
            abort();
        rows[i].run(rows[i].n);
    }
    for (size_t k = 0; k < repetitions; k++)
        for (size_t i = 0; i < count; i++)
            rows[i].samples[k] = undisturbed(&rows[i]);
    for (size_t i = 0; i < count; i++) {
        bench_sort(rows[i].samples, repetitions);
        rows[i].median = bench_at(rows[i].samples, repetitions, 0.5);
        rows[i].lo = bench_at(rows[i].samples, repetitions, 0.05);
        rows[i].hi = bench_at(rows[i].samples, repetitions, 0.95);
        free(rows[i].samples);
    }
}

void bench_csv(const char *table, const char *row, const char *column, double value) {
    if (csv)
        fprintf(csv, "%s,\"%s\",%s,%.6g\n", table, row, column, value);
}

static void print_target(const char *table, const struct bench_row *r, double ratio) {
    bool met = true;
    if (r->times) {
        met = ratio <= r->times;
        printf("  <= %.4gx", r->times);
        bench_csv(table, r->name, "target_times", r->times);
    } else if (r->at_most) {
        met = r->median <= r->at_most;
        printf("  <= %-4.0f", r->at_most);
        bench_csv(table, r->name, "target_at_most", r->at_most);
    } else {
        return;
    }
    printf(met ? "  met" : "  MISSED");
    bench_csv(table, r->name, "met", met);
}

void bench_print(const char *table, const char *title, const char *unit, const struct bench_row *rows, size_t count) {
    printf("\n%s [%s]\n", title, table);
    printf("  %-46s %9s %17s %7s %12s  target\n", "", unit, "5-95%", "times", "published");
    for (size_t i = 0; i < count; i++) {
        const struct bench_row *r = &rows[i];
        double ratio = r->base ? r->median / rows[r->base - 1].median : 0;
        char range[40], times[16] = "";
        snprintf(range, sizeof range, "%.1f-%.1f%s", r->lo, r->hi, bench_noisy(r->median, r->lo, r->hi) ? "~" : " ");
        if (r->base)
            snprintf(times, sizeof times, "%.2fx", ratio);
        printf("  %-46s %9.1f %18s%7s %12s", r->name, r->median, range, times, r->published ? r->published : "");
        bench_csv(table, r->name, "median", r->median);
        bench_csv(table, r->name, "p05", r->lo);
        bench_csv(table, r->name, "p95", r->hi);
        if (r->base)
            bench_csv(table, r->name, "times_base", ratio);
        print_target(table, r, ratio);
        printf("\n");
    }
    fflush(stdout);
}

void bench_table(const char *table, const char *title, const char *unit, struct bench_row *rows, size_t count) {
    bench_measure(rows, count);
    bench_print(table, title, unit, rows, count);
}

void bench_skip(const char *row, const char *why) {
    printf("  %-46s skipped: %s\n", row, why);
    fflush(stdout);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// A chain of n additions: a cycle each on every core worth naming.
static void additions(long n) {
    uint64_t x = 1;
#if defined(__aarch64__)
#define ADD "add %0, %0, %0\n\t"
#else
#define ADD "addq %0, %0\n\t"
#endif
    for (; n > 0; n -= 16)
        __asm__ volatile(ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD : "+r"(x));
}

static void measure_clock(void) {
    double best = 0;
    uint64_t ns = now_ns(), start = bench_ticks();
    for (int i = 0; i < 20; i++) {
        uint64_t t = bench_ticks();
        additions(1000000);
        double rate = 1e6 / (double)(bench_ticks() - t);
        if (rate > best)
            best = rate;
    }
    bench_core_cycles_per_tick = best;
    bench_ticks_per_ns = (double)(bench_ticks() - start) / (double)(now_ns() - ns);
}

static void print_cpu(void) {
    char line[256], *colon;
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "model name", 10) == 0 && (colon = strchr(line, ':'))) {
            printf("machine: %s", colon + 2);
            break;
        }
    }
    if (f)
        fclose(f);
}

void bench_begin(const char *program) {
    setvbuf(stdout, NULL, _IOLBF, 0); // who is stopped has printed what it knew
    struct utsname u = {0};
    uname(&u);
    measure_clock();
    printf("%s\n", program);
    print_cpu();
    printf("system: %s %s, %s; compiler: %s\n", u.sysname, u.release, u.machine,
#if defined(__clang__)
           "clang " __clang_version__
#else
           "gcc " __VERSION__
#endif
    );
    printf("clock: %.3f ticks/ns; the core does %.2f cycles a tick; ", bench_ticks_per_ns, bench_core_cycles_per_tick);
    printf("%d repetitions in turns; ~ marks a range wider than a quarter of its median\n",
           bench_options.quick ? BENCH_QUICK : BENCH_REPETITIONS);
    fflush(stdout);
    if (bench_options.csv) {
        csv = fopen(bench_options.csv, "w");
        if (!csv)
            perror(bench_options.csv);
        else
            fprintf(csv, "table,row,column,value\n");
    }
}

void bench_end(void) {
    if (retaken)
        printf("\n%ld repetitions were taken again, because the system ran something else meanwhile\n", retaken);
    if (csv && fclose(csv) != 0)
        perror(bench_options.csv);
    csv = NULL;
}

// NULL: there is none.
static char *command_of(const char *rival, const char *what, long n) {
    char self[4096] = "", *program = NULL, *command = NULL;
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
        return NULL;
    if (!rival) {
        program = strdup(self);
    } else if (bench_options.rivals) {
        if (asprintf(&program, "%s/%s", bench_options.rivals, rival) < 0)
            program = NULL;
    } else {
        for (int up = 0; up < 2; up++)
            *strrchr(self, '/') = 0;
        if (asprintf(&program, "%s/rivals/%s", self, rival) < 0)
            program = NULL;
    }
    if (program && access(program, X_OK) == 0 && asprintf(&command, "'%s' %s %ld", program, what, n) < 0)
        command = NULL;
    free(program);
    return command;
}

bool bench_rival(const char *program, const char *what, long n, double *values, int count) {
    char *command = command_of(program, what, n);
    FILE *f = command ? popen(command, "r") : NULL;
    int got = 0;
    while (f && got < count && fscanf(f, "%lf", &values[got]) == 1)
        got++;
    free(command);
    return f && pclose(f) == 0 && got == count;
}

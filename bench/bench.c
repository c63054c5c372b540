// SPDX-License-Identifier: BSD-2-Clause
#define _GNU_SOURCE
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>

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
static long retaken, disturbed; // repetitions; the latter count all the same

void bench_failed(const char *what, const char *file, int line, long error) {
    const char *name = line ? strrchr(file, '/') : NULL; // else it is no file
    fflush(NULL);
    char number[16] = "";
    if (line)
        snprintf(number, sizeof number, ":%d", line);
    fprintf(stderr, "%s: %s%s: %s%s%s\n", program_invocation_short_name, name ? name + 1 : file, number, what,
            error ? ": " : "", error ? strerror((int)error) : "");
    _exit(1);
}

long bench_did(long result, const char *what, const char *file, int line) {
    if (result < 0)
        bench_failed(what, file, line, -result);
    return result;
}

long bench_sys(long result, const char *what, const char *file, int line) {
    if (result < 0)
        bench_failed(what, file, line, errno);
    return result;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_sort(double *samples, size_t n) { qsort(samples, n, sizeof *samples, compare); }

double bench_at(const double *sorted, size_t n, double quantile) {
    return sorted[(size_t)(quantile * (double)(n - 1) + 0.5)];
}

void bench_range(const double *sorted, size_t n, double *lo, double *hi) {
    *lo = sorted[n / 20];
    *hi = sorted[n - 1 - n / 20];
}

bool bench_noisy(double median, double lo, double hi) { return hi - lo > 0.25 * median; }

long bench_preemptions(void) {
    struct rusage u;
    return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nivcsw : 0;
}

static double run(const struct bench_row *row) {
    double result = row->run(row->n);
    if (!(result > 0)) // a time; not a number, neither
        bench_failed("this row measured nothing", row->name, 0, 0);
    return result;
}

// A repetition during which the system took the processor away says nothing: it is taken again.
static double undisturbed(const struct bench_row *row) {
    for (int attempts = 0;; attempts++) {
        long before = bench_preemptions();
        double result = run(row);
        bool quiet = bench_preemptions() == before;
        disturbed += attempts == ATTEMPTS && !quiet;
        if (attempts == ATTEMPTS || quiet)
            return result;
        retaken++;
    }
}

void bench_measure(struct bench_row *rows, size_t count) {
    size_t repetitions = bench_options.quick ? BENCH_QUICK : BENCH_REPETITIONS;
    for (size_t i = 0; i < count; i++) {
        BENCH_GOT(rows[i].samples = malloc(repetitions * sizeof(double)));
        run(&rows[i]);
    }
    for (size_t k = 0; k < repetitions; k++)
        for (size_t i = 0; i < count; i++)
            rows[i].samples[k] = undisturbed(&rows[i]);
    for (size_t i = 0; i < count; i++) {
        bench_sort(rows[i].samples, repetitions);
        rows[i].median = bench_at(rows[i].samples, repetitions, 0.5);
        bench_range(rows[i].samples, repetitions, &rows[i].lo, &rows[i].hi);
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
    printf("5-95%%: nine in ten of the repetitions or more; where a table says that it has less than twenty, all of them\n");
    fflush(stdout);
    if (getenv("FIN_IO"))
        printf("FIN_IO=%s: what Fin's rows run on\n", getenv("FIN_IO"));
    if (!bench_options.csv)
        return;
    csv = fopen(bench_options.csv, "w");
    if (!csv)
        bench_failed("open", bench_options.csv, 0, errno);
    setvbuf(csv, NULL, _IOLBF, 0); // a child that ends has nothing of it left to write
    fprintf(csv, "table,row,column,value\n");
}

// Where the disk is full some write has failed, maybe one of long ago.
static bool written(FILE *f, const char *name) {
    errno = 0;
    if (fflush(f) == 0 && !ferror(f))
        return true;
    if (errno == 0 && fputc('\n', f) != EOF) // the next says why
        fflush(f);
    fprintf(stderr, "%s: %s\n", name, errno ? strerror(errno) : "not all of it could be written");
    return false;
}

int bench_end(void) {
    if (retaken)
        printf("\n%ld repetitions were taken again, because the system ran something else meanwhile\n", retaken);
    if (disturbed)
        printf("%ld repetitions were disturbed each of %d times, the last of which counts\n", disturbed, ATTEMPTS + 1);
    bool good = !csv || written(csv, bench_options.csv);
    if (csv)
        fclose(csv);
    csv = NULL;
    return written(stdout, "standard output") && good ? 0 : 1;
}

// NULL: there is none.
static char *command_of(const char *rival, const char *what, long n) {
    char self[4096] = "", *program = self, *command;
    BENCH_SYS(readlink("/proc/self/exe", self, sizeof self - 1));
    for (int up = 0; rival && up < 2; up++)
        *strrchr(self, '/') = 0;
    if (rival && bench_options.rivals)
        BENCH_SYS(asprintf(&program, "%s/%s", bench_options.rivals, rival));
    else if (rival)
        BENCH_SYS(asprintf(&program, "%s/rivals/%s", self, rival));
    bool built = !rival || access(program, X_OK) == 0;
    if (built)
        BENCH_SYS(asprintf(&command, "'%s' %s %ld", program, what, n));
    if (rival)
        free(program);
    return built ? command : NULL;
}

const char *bench_rival(const char *program, const char *what, long n, double *values, int count) {
    static char why[100];
    char *command = command_of(program, what, n);
    if (!command)
        return "not built (bench/rivals/build)";
    FILE *f = popen(command, "r");
    BENCH_GOT(f);
    int got = 0;
    while (got < count && fscanf(f, "%lf", &values[got]) == 1 && values[got] > 0) // times and memory: 0 is none
        got++;
    int status = pclose(f);
    free(command);
    if (status == 0 && got == count)
        return NULL;
    if (WIFSIGNALED(status) || WEXITSTATUS(status) > 128)
        snprintf(why, sizeof why, "ended by signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128);
    else
        snprintf(why, sizeof why, "it ended with status %d and printed %d of %d numbers above 0", WEXITSTATUS(status), got,
                 count);
    if (!program)
        bench_failed(why, what, 0, 0);
    return why;
}

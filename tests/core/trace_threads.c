// SPDX-License-Identifier: BSD-2-Clause
// Threads that come and go, and mark moments, while traces begin and end: what is written is whole, and those of a later
// trace use the memory that those of an earlier one had.
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fin.h>

#include "process.h"

enum { TRACES = 30, THREADS = 8 };
static bool stop;

static void marks(void *unused) {
    (void)unused;
    for (int i = 0; i < 100; i++) {
        fin_trace_mark("a moment");
        fin_yield();
    }
}

static void come_and_go(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        struct fin_thread_handle t;
        CHECK_EQ(fin_thread_start(&t, marks, NULL), 0);
        fin_thread_join_nc(&t);
    }
}

// Each line is an event, with both of its ends.
static void is_whole(const char *path) {
    char line[512];
    FILE *f = fopen(path, "r");
    CHECK(f && fgets(line, sizeof line, f) && strcmp(line, "[\n") == 0);
    while (fgets(line, sizeof line, f)) {
        size_t n = strlen(line);
        CHECK(strncmp(line, "{\"ph\":\"", 7) == 0 && n > 10 && strcmp(line + n - 3, "},\n") == 0);
    }
    fclose(f);
}

static void trace_while_they_come(void) {
    char path[32];
    int fd = memfd_create("trace", MFD_CLOEXEC);
    CHECK(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (int i = 0; i < TRACES; i++) {
        CHECK_EQ(fin_trace_start(path), 0);
        fin_sleep(FIN_MS);
        CHECK_EQ(fin_trace_stop(), 0);
        is_whole(path);
    }
    close(fd);
}

// Pages that the process may use.
static long pages(void) {
    long n = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%ld", &n) == 1);
    fclose(f);
    return n;
}

static void trace_threads(void) {
    CHECK_EQ(fin_trace_start("/dev/null"), 0);
    for (int i = 0; i < THREADS; i++) {
        struct fin_thread_handle t;
        CHECK_EQ(fin_thread_start(&t, marks, NULL), 0);
        fin_thread_join_nc(&t);
    }
    CHECK_EQ(fin_trace_stop(), 0);
}

int main(void) {
    struct fin_thread_handle t[2];
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fin_thread_start(&t[i], come_and_go, NULL), 0);
    trace_while_they_come();
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        fin_thread_join_nc(&t[i]);
    trace_threads();
    long before = pages();
    for (int i = 0; i < 5; i++)
        trace_threads();
    if (!FIN_SANITIZED && !on_valgrind()) // whose own memory grows
        CHECK(pages() - before < 4096);
    return 0;
}

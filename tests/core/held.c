// SPDX-License-Identifier: BSD-2-Clause
// With FIN_HELD_MS an AWE that holds its thread is reported, once each time, with its name, entry function and backtrace.
// One that yields is not, nor is a thread that sleeps or runs code outside all finish blocks.
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

#define LIMIT (200 * FIN_MS)

static int reports[2];
static char text[65536];
static size_t length;

// Takes what has been reported. Blocks nobody.
static bool take_report(void) {
    struct pollfd p = {.fd = reports[0], .events = POLLIN};
    if (poll(&p, 1, 0) <= 0)
        return false;
    ssize_t n = read(reports[0], text + length, sizeof text - 1 - length);
    CHECK(n > 0);
    length += (size_t)n;
    text[length] = 0;
    return true;
}

static int times(const char *word) {
    int n = 0;
    for (const char *p = text; (p = strstr(p, word)); p++)
        n++;
    return n;
}

static volatile bool stop;

static void __attribute__((noinline)) spin_until_reported(void) {
    while (!take_report() && !stop) {
    }
}

static void holds(void *name) {
    fin_set_name(name);
    fin_yield(); // so that it is resumed
    spin_until_reported();
    for (uint64_t end = fin_now() + 2 * LIMIT; fin_now() < end;) {
    }
    fin_yield();
    spin_until_reported();
    stop = false; // no jump to the end: there is a frame to be seen
}

static void yields(void *until) {
    while (fin_now() < *(uint64_t *)until)
        fin_yield();
}

static void nothing_to_report(void) {
    uint64_t end = fin_now() + 2 * LIMIT;
    fin_finish {
        fin_async_call(yields, &end);
        fin_async_call(yields, &end);
    }
    CHECK_EQ(fin_sleep(2 * LIMIT), 0);
    for (end = fin_now() + 2 * LIMIT; fin_now() < end;) {
    }
    CHECK(!take_report());
}

int main(void) {
#if defined(__linux__) && !defined(__GLIBC__)
    SKIP("this libc has no backtrace()");
#endif
    CHECK_EQ(setenv("FIN_HELD_MS", "200", 1), 0);
    CHECK_EQ(pipe(reports), 0);
    int standard_error = dup(STDERR_FILENO);
    CHECK_EQ(dup2(reports[1], STDERR_FILENO), STDERR_FILENO);
    nothing_to_report();
    fin_finish {
        fin_async_call(holds, "the one");
    }
    CHECK_EQ(dup2(standard_error, STDERR_FILENO), STDERR_FILENO);
    while (take_report()) {
    }
    fprintf(stderr, "%s", text);
    CHECK_EQ(times("has held thread"), 2);
    CHECK_EQ(times("AWE \"the one\", entry holds has held"), 2);
    CHECK(times(" spin_until_reported\n") >= 1);
    CHECK(times(" holds\n") >= 1);
    return 0;
}

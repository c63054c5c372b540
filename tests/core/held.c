// SPDX-License-Identifier: BSD-2-Clause
// With FIN_HELD_MS an AWE that holds its thread is reported, once each time, with its name, entry function and backtrace;
// also one that then ends the program. One that yields is not, nor is a thread that sleeps or runs code outside all finish
// blocks.
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
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
    if (n <= 0)
        return false;
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

static uint64_t last;
// Between two yields: more than the thread's own work where the machine gave it no time. A stop is one gap, of 3/2 LIMIT; a
// longer one is more than are ever expected, as half of LIMIT is as many looks as a report takes, the first of which come at
// once.
static int gaps;
enum { STOPS = 4 };

static pid_t stopper; // or 0: it has ended
static bool goes_on(uint64_t until) {
    if (stopper && waitpid(stopper, NULL, WNOHANG) == stopper)
        stopper = 0;
    return stopper || last < until;
}

// With work between, that a look comes into.
static void yields(void *until) {
    for (bool on = true; on; fin_yield()) {
        on = goes_on(*(uint64_t *)until);
        uint64_t now;
        while ((now = fin_now()) < last + LIMIT / 10) {
        }
        gaps += (now - last > LIMIT / 2) + STOPS * (now - last > 7 * LIMIT / 4);
        last = now;
    }
}

static void yield_for(uint64_t ns) {
    uint64_t end = fin_now() + ns;
    last = fin_now();
    fin_finish {
        fin_async_call(yields, &end);
        fin_async_call(yields, &end);
    }
}

static void yield_often(void) { yield_for(2 * LIMIT); }

// Nor does one hold its thread whose process was stopped. (The two may see it in either order afterwards: so several times.)
static void be_stopped(void) {
    pid_t parent = getpid();
    stopper = fork();
    for (int i = 0; i < STOPS && stopper == 0; i++) {
        usleep(30000);
        kill(parent, SIGSTOP);
        usleep(3 * LIMIT / 2 / FIN_US);
        kill(parent, SIGCONT);
    }
    if (stopper == 0)
        _Exit(0);
    yield_for(0);
}

static void sleep_and_spin(void) {
    fin_sleep(2 * LIMIT);
    for (uint64_t end = fin_now() + 2 * LIMIT; fin_now() < end;) {
    }
}

// The look at who holds the thread ends the pause, and the program ends before anything can have been written.
static void __attribute__((noinline)) exits(void *unused) {
    (void)unused;
    pause();
    exit(0);
}

static bool told_at_exit(void) {
    pid_t child = fork();
    if (child == 0) {
        setenv("FIN_HELD_MS", "20", 1);
        fin_finish {
            fin_async_call(exits, NULL);
        }
    }
    waitpid(child, NULL, 0);
    take_report();
    bool told = strstr(text, " exits\n") != NULL;
    text[length = 0] = 0;
    return told;
}

// Whether there is a report of what is none. Again where the machine took more time than it was told to.
static bool wrongly_reported(void (*what)(void), int gaps_expected) {
    bool reported = true;
    for (int i = 0; i < 20 && reported; i++) {
        text[length = 0] = 0;
        gaps = 0;
        what();
        reported = take_report();
        if (gaps <= gaps_expected)
            break;
    }
    return reported;
}

int main(void) {
#if defined(__linux__) && !defined(__GLIBC__)
    SKIP("this libc has no backtrace()");
#endif
    CHECK_EQ(setenv("FIN_HELD_MS", "200", 1), 0);
    CHECK_EQ(pipe(reports), 0);
    int standard_error = dup(STDERR_FILENO);
    CHECK_EQ(dup2(reports[1], STDERR_FILENO), STDERR_FILENO);
    bool told = false; // first, and
    for (int i = 0; i < 20 && !told; i++) // where the machine took its time, the pause may have ended and nobody was held
        told = told_at_exit();
    bool stopped = wrongly_reported(be_stopped, STOPS); // first: in qemu the child of one with threads dies
    bool yielding = wrongly_reported(yield_often, 0);
    bool outside = wrongly_reported(sleep_and_spin, 0);
    fin_finish {
        fin_async_call(holds, "the one");
    }
    CHECK_EQ(dup2(standard_error, STDERR_FILENO), STDERR_FILENO);
    CHECK(told);
    CHECK(!yielding);
    CHECK(!stopped);
    CHECK(!outside);
    while (take_report()) {
    }
    fprintf(stderr, "%s", text);
    CHECK_EQ(times("has held thread"), 2);
    CHECK_EQ(times("AWE \"the one\", entry holds has held"), 2);
    CHECK(times(" spin_until_reported\n") >= 1);
    CHECK(times(" holds\n") >= 1);
    return 0;
}

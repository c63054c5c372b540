// SPDX-License-Identifier: BSD-2-Clause
// What the reports say of a thread that sleeps in a loop that is not Fin's: of an AWE which a callback woke, and which holds
// the thread, they tell; nothing is stuck that a callback may still wake.
#include "embed.h"

static struct fin_event event = FIN_EVENT_INIT;
static int reports[2], told[2];

static FIN_BLOCKING void waits(void *unused) {
    (void)unused;
    CHECK_EQ(fin_event_await(&event, 1), 0);
    done++;
}

static FIN_BLOCKING void holds(void *unused) {
    struct pollfd p = {.fd = told[0], .events = POLLIN};
    waits(unused);
    while (poll(&p, 1, 0) <= 0)
        continue;
}

// The callback wakes it.
static void child_of(const char *variable, void (*fn)(void *), int ms) {
    setenv(variable, "50", 1);
    dup2(reports[1], STDERR_FILENO);
    close(reports[1]);
    CHECK(fin_embed_fd() >= 0);
    fin_finish {
        fin_async_call(fn, NULL);
        settle();
        CHECK(!readable(ms));
        fin_event_advance(&event, 1);
        loop_until(1);
    }
    _exit(0);
}

// Whether there was a report of that.
static bool reported(const char *variable, void (*fn)(void *), int ms, const char *what) {
    char text[65536] = {0};
    size_t length = 0;
    int status;
    CHECK(pipe(reports) == 0 && pipe(told) == 0);
    pid_t child = fork();
    if (child == 0)
        child_of(variable, fn, ms);
    close(reports[1]);
    for (ssize_t n; (n = read(reports[0], text + length, sizeof text - 1 - length)) > 0; length += (size_t)n)
        if (strstr(text, what))
            CHECK_EQ(write(told[1], "x", 1), 1);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    close(reports[0]);
    close(told[0]);
    close(told[1]);
    return strstr(text, what);
}

int main(void) {
#if defined(__linux__) && !defined(__GLIBC__)
    SKIP("this libc has no backtrace()");
#endif
    CHECK(reported("FIN_HELD_MS", holds, 0, "has held thread"));
    CHECK(!reported("FIN_STUCK_MS", waits, 500, "fin:"));
    return 0;
}

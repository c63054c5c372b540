// SPDX-License-Identifier: BSD-2-Clause
// Processes of a report (FIN_STUCK_MS) each; all run at a time.
#ifndef FIN_TESTS_STUCK_H
#define FIN_TESTS_STUCK_H

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "process.h"

#define LOOK_MS "50"
#define PATIENCE_MS 30000

struct scenario {
    void (*run)(void);
    const char *said[5]; // in this order; nothing: nothing is said, and it ends
    int cycles;          // so many of these are said by then; 0: any
    pid_t pid;
    int from;
    char text[65536];
    size_t length;
};

static void begin(struct scenario *s) {
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    s->pid = fork();
    CHECK(s->pid >= 0);
    if (s->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], 2);
        setenv("FIN_STUCK_MS", LOOK_MS, 1);
        s->run();
        _exit(0);
    }
    close(ends[1]);
    s->from = ends[0];
}

static bool all_said(const struct scenario *s) {
    const char *at = s->text;
    for (int i = 0; i < 5 && s->said[i]; i++)
        if (!(at = strstr(at, s->said[i])))
            return false;
    return s->said[0];
}

static int cycles_said(const struct scenario *s) {
    int n = 0;
    for (const char *at = s->text; (at = strstr(at, "a cycle: ")); at++)
        n++;
    return n;
}

// Reads until all is said, or until its end.
static void check(struct scenario *s, int number) {
    int status;
    ssize_t n;
    struct pollfd p = {.fd = s->from, .events = POLLIN, .revents = 0};
    while (!all_said(s) && poll(&p, 1, PATIENCE_MS) == 1 &&
           (n = read(s->from, s->text + s->length, sizeof s->text - 1 - s->length)) > 0)
        s->length += (size_t)n;
    if (s->said[0] ? !all_said(s) || (s->cycles && cycles_said(s) != s->cycles) : s->length != 0) {
        fprintf(stderr, "scenario %d: %s said:\n%s", number, s->said[0] ? "not all was, or too much," : "something was",
                s->text);
        _Exit(1);
    }
    if (s->said[0])
        kill(s->pid, SIGKILL);
    CHECK_EQ(waitpid(s->pid, &status, 0), s->pid);
    CHECK(s->said[0] || status == 0);
}

static void run_scenarios(struct scenario *scenarios, int count) {
    if (ON_TSAN || count_in("/proc/self/task") != 3)
        SKIP("a tool has a thread of its own in each process, which might wake others");
    for (int i = 0; i < count; i++)
        begin(&scenarios[i]);
    for (int i = 0; i < count; i++)
        check(&scenarios[i], i);
}

#endif

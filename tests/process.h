// SPDX-License-Identifier: BSD-2-Clause
// What scenarios of several rooms ask about their process, and about a child of it.
#ifndef FIN_TESTS_PROCESS_H
#define FIN_TESTS_PROCESS_H

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

// It looks at memory before the kernel does, and sets this for the programs that it runs.
static inline bool on_valgrind(void) {
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "vgpreload");
}

// For a test that forks while other threads run.
static inline void skip_without_forks_of_threads(void) {
    if (on_valgrind())
        SKIP("what the other threads of the parent had is lost in a child: valgrind says so");
    if (ON_TSAN)
        SKIP("TSan is not for a child of several threads");
}

static inline void stop_and_continue(pid_t child) {
    int status;
    CHECK_EQ(kill(child, SIGSTOP), 0);
    CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
    CHECK(WIFSTOPPED(status));
    CHECK_EQ(kill(child, SIGCONT), 0);
    CHECK_EQ(waitpid(child, &status, WCONTINUED), child);
    CHECK(WIFCONTINUED(status));
}

static inline int count_in(const char *folder) {
    int n = 0;
    DIR *d = opendir(folder);
    CHECK(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static inline int open_descriptors(void) { return count_in("/proc/self/fd"); }

// Those that another process sent may be closed by a thread.
static inline void until_open_descriptors(int n) {
    for (int i = 0; i < 200000 && open_descriptors() != n; i++)
        usleep(100);
    CHECK_EQ(open_descriptors(), n);
}

// The number that stays for a while.
static inline int settled_descriptors(void) {
    int n = open_descriptors();
    for (int same = 0; same < 1000; same++) { // a thread of the library may have to wait for its turn
        usleep(100);
        if (open_descriptors() != n) {
            n = open_descriptors();
            same = 0;
        }
    }
    return n;
}

static inline void ended_well(pid_t child) {
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

// Runs fn(arg) in a child of this process, to its end.
static inline void in_a_child(void (*fn)(void *), void *arg) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        fn(arg);
        _exit(0);
    }
    ended_well(pid);
}

// Runs fn() in a child of this process, which a signal is to end, and returns that; what it wrote to stderr is in `text`.
static inline int killed_by(void (*fn)(void), char *text, size_t size) {
    int ends[2], status;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], 2);
        fn();
        _Exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t r; n < size - 1 && (r = read(ends[0], text + n, size - 1 - n)) > 0;)
        n += (size_t)r;
    text[n] = 0;
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    fprintf(stderr, "%s", text);
    CHECK(WIFSIGNALED(status));
    return WTERMSIG(status);
}

#endif

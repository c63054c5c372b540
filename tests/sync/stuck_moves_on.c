// SPDX-License-Identifier: BSD-2-Clause
// AWEs whose cycle is being reported may be cancelled meanwhile, and their frames used for something else. Here the report
// is held up after its first line, by a pipe that is full.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "deadlock.h"
#include "process.h"

enum { FULL = 4096, ROOM = 256 }; // for the first line, and part of the next

static void wants_a(void *unused) {
    (void)unused;
    fin_yield();
    fin_yield();
    if (fin_mutex_lock(&a) == 0)
        fin_mutex_unlock(&a);
}

static __attribute__((noinline)) void write_over_frames(void *unused) {
    char frames[8192];
    memset(frames, 8, sizeof frames);
    __asm__ volatile("" : : "r"(frames) : "memory");
    (void)unused;
}

static void until_told(int told) {
    char c;
    fin_finish {
        for (int i = 0; i < 2; i++) {
            fin_async_call(a_then_b, NULL);
            fin_async_call(b_then_a, NULL);
        }
        fin_async_call(wants_a, NULL);
        CHECK_EQ(fin_read(told, &c, 1), 1);
        fin_cancel();
    }
    for (int i = 0; i < 5; i++)
        write_over_frames(NULL);
    fin_finish {
        for (int i = 0; i < 10; i++)
            fin_async_eager_call(write_over_frames, NULL);
    }
}

static void child_of(int report, int told, int done) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(report, STDERR_FILENO);
    setenv("FIN_STUCK_MS", "50", 1);
    until_told(told);
    CHECK_EQ(write(done, "x", 1), 1);
    pause();
}

int main(void) {
    int report[2], told[2], done[2], n, status;
    static char filler[FULL - ROOM], text[65536];
    char c;
    size_t length = 0;
    if (ON_TSAN || count_in("/proc/self/task") != 3)
        SKIP("a tool has a thread of its own in each process, which might wake others");
    CHECK(pipe(report) == 0 && pipe(told) == 0 && pipe(done) == 0);
    if (fcntl(report[1], F_SETPIPE_SZ, FULL) != FULL)
        SKIP("pages are too large for a small pipe");
    CHECK_EQ(write(report[1], filler, sizeof filler), (ssize_t)sizeof filler);
    pid_t child = fork();
    if (child == 0)
        child_of(report[1], told[0], done[1]);
    close(report[1]);
    while (ioctl(report[0], FIONREAD, &n) == 0 && n <= FULL - ROOM)
        usleep(1000);
    CHECK_EQ(write(told[1], "x", 1), 1);
    CHECK_EQ(read(done[0], &c, 1), 1);
    for (ssize_t more = 1; more > 0 && !memmem(text, length, "a cycle:", 8); length += (size_t)more)
        more = read(report[0], text + length, sizeof text - 1 - length);
    kill(child, SIGKILL);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(WTERMSIG(status), SIGKILL); // its own end would be SIGSEGV
    CHECK(memmem(text, length, "a cycle:", 8));
    return 0;
}

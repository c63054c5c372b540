// SPDX-License-Identifier: BSD-2-Clause
// With slack a thread sleeps on while timers become due, and then runs them all, in their order; a timeout is a timer. What
// else it waits for is not late, it is the thread's alone, and the end of time stays that.
#include <string.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

enum { SLEEPERS = 10, TRIES = 50 };
static const uint64_t slack = 30 * FIN_MS;
static uint64_t start;
static bool early; // than the first might have been late

static void sleeps(void *arg) {
    int n = *(int *)arg;
    uint64_t when = start + (uint64_t)n * FIN_MS;
    CHECK_EQ(fin_sleep_until(when), 0);
    CHECK(fin_now() >= when);
    early |= fin_now() < start + FIN_MS + slack;
    LOG("%d ", n);
}

// False: the thread was held for so long that some were due before it could sleep.
static bool together(void) {
    int n[SLEEPERS] = {4, 10, 1, 7, 2, 9, 3, 8, 5, 6};
    start = fin_now() + 5 * FIN_MS;
    early = false;
    check_log[0] = 0;
    fin_finish {
        for (int i = 0; i < SLEEPERS; i++)
            fin_async_call(sleeps, &n[i]);
        fin_timeout(7 * FIN_MS) {
            CHECK_EQ(fin_sleep(FIN_S * 3600), -ECANCELED);
        }
        CHECK(fin_timed_out());
        early |= fin_now() < start + FIN_MS + slack;
    }
    CHECK_LOG("1 2 3 4 5 6 7 8 9 10 ");
    return !early;
}

// A thread of its own, without slack, writes while this one sleeps.
static void writes(void *fd) {
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    CHECK_EQ(fin_write(*(int *)fd, "x", 1), 1);
}

static void other_events(void) {
    int fd[2];
    struct fin_thread_handle t;
    char c;
    CHECK_EQ(pipe(fd), 0);
    CHECK_EQ(fin_timer_slack(FIN_S * 3600), 0);
    CHECK_EQ(fin_thread_start(&t, writes, &fd[1]), 0);
    fin_finish {
        fin_async { fin_sleep(FIN_US); };
        CHECK_EQ(fin_read(fd[0], &c, 1), 1);
        fin_cancel();
    }
    CHECK_EQ(fin_thread_join(&t), 0);
    close(fd[0]);
    close(fd[1]);
}

static void end_of_time(void) {
    fin_finish {
        fin_async { CHECK_EQ(fin_sleep_until(UINT64_MAX - 1), -ECANCELED); };
        CHECK_EQ(fin_timer_slack(0), 0);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_timer_slack(UINT64_MAX), 0);
        CHECK_EQ(fin_sleep(0), 0);
        fin_cancel();
    }
}

int main(void) {
    CHECK_EQ(fin_timer_slack(slack), 0);
    int tries = 0;
    while (!together())
        CHECK(++tries < TRIES);
    other_events();
    end_of_time();
    return 0;
}

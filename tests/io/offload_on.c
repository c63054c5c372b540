// SPDX-License-Identifier: BSD-2-Clause
// fin_offload_on: the function runs on another thread, the AWE has no stack meanwhile, and its continuation sees what the
// function wrote. A cancel takes back what has not begun. Refused outside an AWE: nothing runs.
#include <pthread.h>

#include <fin/on.h>

#include "net.h"

enum { JOBS = 100 };

static struct job {
    struct fin_on on;
    void (*fn)(void *);
    int ran, result;
} jobs[JOBS];

static pthread_t main_thread;
static int fd[2], order;

static void runs(void *p) {
    CHECK(!pthread_equal(pthread_self(), main_thread));
    ((struct job *)p)->ran = ++order;
}

static void waits(void *p) {
    char c;
    CHECK_EQ(read(fd[0], &c, 1), 1);
    runs(p);
}

static void ended(void *state, int r) {
    struct job *j = *(struct job **)state;
    CHECK(pthread_equal(pthread_self(), main_thread));
    j->result = r;
    fin_cont_end();
}

static void begins(void *state, int unused) {
    struct job *j = *(struct job **)state;
    (void)unused;
    fin_offload_on(&j->on, j->fn, j, ended, &j, sizeof j);
    CHECK(false);
}

static void start(struct fin_finish_block *b, struct job *j, void (*fn)(void *)) {
    *j = (struct job){.fn = fn, .result = -EINPROGRESS};
    CHECK(fin_cont_start_(b, begins, &j, sizeof j) != NULL);
}

static uint64_t stacks(void) {
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks_used;
}

static void many(void) {
    order = 0;
    fin_finish {
        for (int i = 0; i < JOBS; i++)
            start(FIN_CONT_BLOCK_, &jobs[i], i ? runs : waits);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(stacks(), 1);
        CHECK_EQ(write(fd[1], "x", 1), 1);
    }
    for (int i = 0; i < JOBS; i++) {
        CHECK_EQ(jobs[i].result, 0);
        CHECK_EQ(jobs[i].ran, i + 1); // one thread, first come first served
    }
}

static struct fin_event begun;

static void waits_begun(void *p) {
    fin_event_advance(&begun, 1);
    waits(p);
}

static void cancelled(void) {
    fin_finish {
        start(FIN_CONT_BLOCK_, &jobs[0], waits_begun);
        fin_event_await_nc(&begun, 1);
        start(FIN_CONT_BLOCK_, &jobs[1], runs);
        fin_yield();
        fin_cancel();
        start(FIN_CONT_BLOCK_, &jobs[2], runs);
        CHECK_EQ(write(fd[1], "y", 1), 1);
    }
    CHECK_EQ(jobs[0].result, 0); // it had begun
    CHECK(jobs[0].ran);
    for (int i = 1; i < 3; i++) {
        CHECK_EQ(jobs[i].result, -ECANCELED);
        CHECK(!jobs[i].ran);
    }
}

int main(void) {
    main_thread = pthread_self();
    CHECK_EQ(pipe(fd), 0);
    CHECK(fin_offload_threads(1) > 0);
    CHECK_EQ(fin_offload_on(&jobs[0].on, runs, &jobs[0], ended, NULL, 0), -EINVAL);
    many();
    cancelled();
    CHECK_EQ(jobs[0].ran, order);
    return 0;
}

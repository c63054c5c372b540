// SPDX-License-Identifier: BSD-2-Clause
// A thread ends, which it must not do there (docs/core.md), while AWEs of it wait with continuations for functions on the
// pool: one that has begun is waited for, since it uses what the thread has; the others do not begin, nor does any
// continuation run.
#include <pthread.h>

#include <fin.h>
#include <fin/on.h>

#include "check.h"

enum { JOBS = 10 };

static struct fin_on places[JOBS];
static struct fin_event begun;
static int ran, leaving, ended;

// Until the thread is on its way out, and much longer than it needs from there to where it waits for this function.
static void takes_time(void *unused) {
    (void)unused;
    fin_event_advance(&begun, 1);
    while (!__atomic_load_n(&leaving, __ATOMIC_RELAXED))
        fin_sleep_nc(FIN_MS);
    fin_sleep_nc(200 * FIN_MS);
    __atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
    ran++;
}

static void runs(void *unused) {
    (void)unused;
    ran++;
}

static void never(void *state, int result) {
    (void)state, (void)result;
    CHECK(false);
}

static void begins(void *state, int unused) {
    struct fin_on *on = *(struct fin_on **)state;
    (void)unused;
    fin_offload_on(on, on == places ? takes_time : runs, NULL, never, NULL, 0);
    CHECK(false);
}

static void *exits(void *unused) {
    fin_finish {
        for (struct fin_on *on = places; on < places + JOBS; on++)
            CHECK(fin_async_cont(begins, &on, sizeof on) != NULL);
        fin_event_await_nc(&begun, 1);
        __atomic_store_n(&leaving, 1, __ATOMIC_RELAXED);
        pthread_exit(NULL);
    }
    return unused;
}

static void does_run(void *p) { *(int *)p = 1; }

int main(void) {
    pthread_t t;
    int later = 0;
    CHECK(fin_offload_threads(1) > 0);
    CHECK_EQ(pthread_create(&t, NULL, exits, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    CHECK_EQ(__atomic_load_n(&ended, __ATOMIC_RELAXED), 1);
    CHECK_EQ(fin_offload(does_run, &later), 0); // the same thread, behind what else it had to do
    CHECK_EQ(later, 1);
    CHECK_EQ(ran, 1);
    return 0;
}

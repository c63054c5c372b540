// SPDX-License-Identifier: BSD-2-Clause
// Several threads: the pool for what blocks, threads of Fin, a lock and an event between them, timeouts.
#define _GNU_SOURCE
#include <fin/on.h>

#include "fault.h"

enum { WORKERS = 3 };
const int threads = WORKERS;
void (*const prepare)(void) = NULL;

static struct fin_mutex mutex = FIN_MUTEX_INIT;
static struct fin_event done;
static int started, count, offloaded;

static void add(void *unused) {
    (void)unused;
    __atomic_add_fetch(&offloaded, 1, __ATOMIC_SEQ_CST);
}

static void work(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) {
        fin_mutex_lock_nc(&mutex);
        fine(fin_sleep(1000)); // the others wait
        count++;
        fin_mutex_unlock(&mutex);
    }
    fin_event_advance(&done, 1);
}

static void on_threads(void) {
    struct fin_thread_handle h[WORKERS];
    started = count = 0;
    fin_event_init(&done);
    while (started < WORKERS && fine(fin_thread_start(&h[started], work, NULL)))
        started++;
    fin_timeout(10 * FIN_S) { // of which one that cannot have its time is cancelled at once
        fine(fin_event_await(&done, (uint64_t)started));
    }
    for (int i = 0; i < started; i++)
        fin_thread_join_nc(&h[i]);
    CHECK_EQ(count, 3 * started);
}

static void offload(void) {
    fin_shared int good = 0;
    offloaded = 0;
    fin_finish {
        for (int i = 0; i < WORKERS; i++) {
            fin_async { good += fine(fin_offload(add, NULL)); };
        }
    }
    CHECK_EQ(offloaded, good);
}

static struct fin_on on;

static void ended(void *state, int r) {
    **(int **)state += fine(r);
    fin_cont_end();
}

static void begins(void *state, int unused) {
    (void)unused;
    ended(state, fin_offload_on(&on, add, NULL, ended, state, sizeof(int *)));
}

static void offload_on(void) {
    int good = 0, *to = &good;
    offloaded = 0;
    fin_finish {
        fine(fin_async_cont(begins, &to, sizeof to) ? 0 : -ENOMEM);
    }
    CHECK_EQ(offloaded, good);
}

static void cancelled(int r) {
    CHECK(r < 0);
    fine(r == -ECANCELED ? 0 : r);
}

void scenario(void) {
    on_threads();
    offload_on(); // whose thread the others find
    offload();
    fin_timeout(1000) {
        fin_async { cancelled(fin_sleep(3600 * FIN_S)); };
    }
}

// SPDX-License-Identifier: BSD-2-Clause
// A wake-up comes too late: its thread is awake already, and ends. The next thread, which takes its I/O over, is woken all
// the same.
#define _GNU_SOURCE
#include <time.h>

#include "net.h"

#include "core/runtime.h"

static struct fin_event go;
static struct fin_runtime *runtime;
static uint32_t woken;

static void first(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(1), 0); // from here on it sleeps in its I/O
    __atomic_store_n(&runtime, fin_here(), __ATOMIC_RELEASE);
    while (!__atomic_load_n(&woken, __ATOMIC_ACQUIRE)) {
    }
}

static void second(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(1), 0);
    CHECK_EQ(fin_event_await(&go, 1), 0);
}

int main(void) {
    struct fin_thread_handle t;
    struct timespec while_asleep = {.tv_nsec = 50000000};
    CHECK_EQ(fin_thread_start(&t, first, NULL), 0);
    while (!__atomic_load_n(&runtime, __ATOMIC_ACQUIRE)) {
    }
    fin_runtime_wake(runtime);
    __atomic_store_n(&woken, 1, __ATOMIC_RELEASE);
    fin_thread_join_nc(&t);
    CHECK_EQ(fin_thread_start(&t, second, NULL), 0);
    nanosleep(&while_asleep, NULL);
    fin_event_advance(&go, 1);
    fin_thread_join_nc(&t);
    return 0;
}

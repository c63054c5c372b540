// SPDX-License-Identifier: BSD-2-Clause
#include <fin/sync_on.h>

#include "sync/host.h"

static void run(void *arg) {
    struct fin_thread_handle *h = arg;
    h->fn(h->arg);
}

static void ended(void *arg) {
    struct fin_thread_handle *h = arg;
    fin_event_advance(&h->ended, 1);
}

int fin_thread_start(struct fin_thread_handle *h, void (*fn)(void *), void *arg) {
    h->fn = fn;
    h->arg = arg;
    fin_event_init(&h->ended);
    return fin_host_thread_start(&h->os, run, ended, h);
}

int fin_thread_join(struct fin_thread_handle *h) {
    int result = fin_event_await(&h->ended, 1);
    if (result == 0)
        fin_host_thread_reap(h->os);
    return result;
}

int fin_thread_ended_on(struct fin_thread_handle *h, struct fin_sync_on *on, fin_cont *cont, const void *state,
                        size_t size) {
    return fin_event_await_on(&h->ended, 1, on, cont, state, size);
}

void fin_thread_join_nc(struct fin_thread_handle *h) {
    fin_event_await_nc(&h->ended, 1);
    fin_host_thread_reap(h->os);
}

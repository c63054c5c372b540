// SPDX-License-Identifier: BSD-2-Clause
// Two threads send over a channel each, and trigger a source; two others wait for all of it in one waitset.
#include <fin.h>
#include <fin/chan.h>
#include <fin/waitset.h>

#include "weak.h"

enum { EACH = 4, CHANNELS = 2 };

static struct fin_chan *here[CHANNELS], *there[CHANNELS];
static struct fin_waitset *set;
static struct fin_waitset_source source;
static int received, triggered, arrived[CHANNELS];

static FIN_BLOCKING void arrives(void *arg) {
    int *n = arg;
    uint64_t number;
    ssize_t r;
    while ((r = fin_chan_try_recv(here[n - arrived], &number, sizeof number)) == sizeof number) {
        WEAK_CHECK(number == (uint64_t)(*n)++);
        __atomic_fetch_add(&received, 1, __ATOMIC_RELAXED);
    }
}

static void is_triggered(void *arg) {
    (void)arg;
    __atomic_fetch_add(&triggered, 1, __ATOMIC_RELAXED);
}

static FIN_BLOCKING void sends(int i) {
    for (uint64_t n = 0; n < EACH; n++)
        WEAK_CHECK(fin_chan_send(there[i], &n, sizeof n) == 0);
    fin_waitset_trigger(&source);
}

static FIN_BLOCKING void dispatches(void) {
    while (__atomic_load_n(&received, __ATOMIC_RELAXED) < EACH * CHANNELS || !__atomic_load_n(&triggered, __ATOMIC_RELAXED))
        if (fin_waitset_dispatch(set) != 0)
            return;
    fin_waitset_shutdown(set);
}

static FIN_BLOCKING void thread(int i) {
    if (i < CHANNELS)
        sends(i);
    else
        dispatches();
}

static void begin(void) {
    received = triggered = 0;
    WEAK_CHECK(fin_waitset_new(&set) == 0);
    for (int i = 0; i < CHANNELS; i++) {
        arrived[i] = 0;
        WEAK_CHECK(fin_chan_pair(&here[i], &there[i], NULL) == 0);
        WEAK_CHECK(fin_waitset_add(set, here[i], arrives, &arrived[i]) == 0);
    }
    source = (struct fin_waitset_source){0};
    WEAK_CHECK(fin_waitset_add_source(set, &source, is_triggered, NULL) == 0);
}

static void end(void) {
    WEAK_CHECK(received == EACH * CHANNELS && triggered >= 1);
    fin_waitset_remove_source(set, &source);
    for (int i = 0; i < CHANNELS; i++) {
        WEAK_CHECK(fin_chan_close(here[i]) == 0);
        WEAK_CHECK(fin_chan_close(there[i]) == 0);
    }
    fin_waitset_close(set);
}

const struct weak_scenario weak_scenario = {4, NULL, begin, thread, end};

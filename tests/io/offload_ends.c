// SPDX-License-Identifier: BSD-2-Clause
// A thread that ends looks at its own jobs, and not at what others have in the pool's queue: however much that is, the end
// costs the same.
#include <fin.h>

#include "check.h"
#include "growth.h"

enum { ENDS = 50, SMALL = 1000 };

static struct fin_event begun, go;

static void waits(void *unused) {
    (void)unused;
    fin_event_advance(&begun, 1);
    fin_event_await_nc(&go, 1);
}

static void nothing(void *unused) { (void)unused; }

static void offloads(void *unused) {
    CHECK_EQ(fin_offload(unused ? waits : nothing, NULL), unused ? 0 : -ECANCELED);
}

static void does_some(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(1), 0);
}

static double seconds_of_ends(void) {
    double begin = cpu_seconds();
    for (int i = 0; i < ENDS; i++) {
        struct fin_thread_handle t;
        CHECK_EQ(fin_thread_start(&t, does_some, NULL), 0);
        fin_thread_join_nc(&t);
    }
    return cpu_seconds() - begin;
}

static double with_in_queue(int many) {
    double seconds = 0;
    fin_finish_as(all) {
        for (int i = 0; i < many; i++)
            fin_async_eager_call(offloads, NULL);
        seconds = seconds_of_ends();
        fin_cancel_as(all);
    }
    return seconds;
}

int main(void) {
    const int many = getenv("FIN_FEW") ? 4000 : FIN_SANITIZED ? 10000 : 40000;
    static char one;
    CHECK(fin_offload_threads(1) > 0);
    fin_finish {
        fin_async_eager_call(offloads, &one);
        fin_event_await_nc(&begun, 1);
        CHECK(costs_less_than(3, with_in_queue, SMALL, many));
        fin_event_advance(&go, 1);
    }
    return 0;
}

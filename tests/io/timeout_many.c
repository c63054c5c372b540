// SPDX-License-Identifier: BSD-2-Clause
// Thousands of blocks with timeouts at once, in every order of times: each ends as its own time says, and the heap of timers
// keeps their order whatever is taken out of it.
#include "net.h"

enum { MOST = 3000 };

static unsigned seed = 1;
static int late, in_time;
static uint64_t last;
static unsigned blocks;

static void one(void *arg) {
    unsigned ms = next_random(&seed) % 20 + 1;
    bool ends = (uintptr_t)arg % 3 == 0;
    int n = 1;
    uint64_t start = fin_now();
    fin_timeout(ends ? 3600 * FIN_S : ms * FIN_MS) {
        n = ends ? fin_sleep((20 - ms) * FIN_MS) : fin_sleep(7200 * FIN_S);
    }
    CHECK_EQ(fin_timed_out(), !ends);
    CHECK_EQ(n, ends ? 0 : -ECANCELED);
    CHECK(fin_now() - start >= (ends ? 20 - ms : ms) * FIN_MS);
    ends ? in_time++ : late++;
}

static void sleep_until(void *arg) {
    uint64_t when = *(uint64_t *)arg;
    CHECK_EQ(fin_sleep_until(when), 0);
    CHECK(when >= last);
    last = when;
}

static void in_order(void) {
    static uint64_t when[MOST];
    uint64_t start = fin_now() + 20 * FIN_MS;
    fin_finish {
        for (unsigned i = 0; i < blocks; i++) {
            when[i] = start + next_random(&seed) % 5000 * FIN_US;
            fin_async_call(sleep_until, &when[i]);
        }
    }
}

int main(void) {
    blocks = getenv("FIN_FEW") ? 300 : MOST;
    fin_finish {
        for (uintptr_t i = 0; i < blocks; i++)
            fin_async_call(one, (void *)i);
    }
    CHECK_EQ(in_time, blocks / 3);
    CHECK_EQ(late, blocks - blocks / 3);
    in_order();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Many look-ups that are cancelled one after the other, each of them the one that drives the rest by then: what that costs
// grows as their number does, not as its square.
#include <poll.h>
#include <time.h>

#include "dns.h"

static struct dns server;
static struct fin_event go;
static int cancelled;

static FIN_BLOCKING void one(void *number) {
    fin_finish {
        fin_async {
            fin_event_await_nc(&go, (uint64_t)(uintptr_t)number + 1);
            fin_cancel();
        };
        cancelled += resolve("silent.test") == -ECANCELED;
    }
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static FIN_BLOCKING double seconds_of(int many) {
    double begin = 0;
    fin_event_init(&go);
    cancelled = 0;
    fin_finish {
        for (int i = 0; i < many; i++)
            fin_async_eager_call(one, (void *)(uintptr_t)i);
        begin = cpu_seconds();
        fin_event_advance(&go, (uint64_t)many);
    }
    CHECK_EQ(cancelled, many);
    return cpu_seconds() - begin;
}

int main(void) {
    const int many = 4000;
    dns_open(&server);
    use_server(&server, 100000, 1);
    seconds_of(many);
    double quarter = seconds_of(many / 4), all = seconds_of(many);
    if (getenv("FIN_SHOW"))
        printf("%d: %.4f s, %d: %.4f s\n", many / 4, quarter, many, all);
    CHECK(all < 9 * quarter);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Many look-ups that are cancelled one after the other, each of them the one that drives the rest by then: what that costs
// grows as their number does, not as its square.
#include <poll.h>

#include "dns.h"
#include "growth.h"

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
    CHECK(costs_less_than(9, seconds_of, many / 4, many));
    return 0;
}

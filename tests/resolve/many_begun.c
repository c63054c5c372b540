// SPDX-License-Identifier: BSD-2-Clause
// Many look-ups that begin while one of them drives the rest: what that costs grows as their number does, not as its square.
#include <poll.h>

#include "dns.h"
#include "growth.h"

static struct dns server;
static int cancelled;

static void one(void *unused) {
    (void)unused;
    cancelled += resolve("silent.test.") == -ECANCELED;
}

static FIN_BLOCKING double seconds_of(int many) {
    double begin = cpu_seconds(), end = 0;
    cancelled = 0;
    fin_finish {
        for (int i = 0; i < many; i++)
            fin_async_eager_call(one, NULL);
        end = cpu_seconds();
        fin_cancel();
    }
    CHECK_EQ(cancelled, many);
    return end - begin;
}

int main(void) {
    const int many = ON_ASAN || ON_TSAN || RUNNING_ON_VALGRIND ? 4000 : 20000; // it only runs there
    dns_open(&server);
    use_server(&server, 100000, 1);
    CHECK(costs_less_than(9, seconds_of, many / 4, many));
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A look-up that is cancelled ends at once and disturbs no other: also where it was the one that drives the rest, and where
// its answer comes at the same moment.
#include <poll.h>

#include "dns.h"

static struct dns server;

static void in_the_middle(void) {
    fin_finish {
        fin_cancel();
        CHECK_EQ(resolve("a.test"), -ECANCELED);
    }
    uint64_t begin = fin_now();
    fin_timeout(10 * FIN_MS) {
        CHECK_EQ(resolve("silent.test"), -ECANCELED);
    }
    CHECK(fin_timed_out());
    CHECK(fin_now() - begin < 1900 * FIN_MS); // c-ares would have tried again by then
    CHECK_EQ(resolve("a.test"), 0);
}

// The first one drives. The second has its answer when somebody drives on.
static void the_driver(void) {
    static int late = 1;
    fin_finish {
        fin_finish {
            fin_async { CHECK_EQ(resolve("silent.test"), -ECANCELED); };
            fin_finish_nc {
                fin_async { late = resolve("late.test"); };
                CHECK_EQ(fin_sleep(FIN_MS), 0);
            }
            fin_cancel();
        }
    }
    CHECK_EQ(late, 0);
    late = 1;
    fin_finish {
        fin_async {
            fin_timeout(5 * FIN_MS) {
                CHECK_EQ(resolve("silent.test"), -ECANCELED);
            }
        };
        fin_async { late = resolve("late.test"); };
        fin_async { CHECK_EQ(resolve("latest.test"), 0); };
    }
    CHECK_EQ(late, 0);
    CHECK_EQ(fin_resolve_configure(&(struct fin_resolve_config){server.servers, 2000, 2}), 0); // nothing is in progress
}

static void race(void) {
    unsigned seed = 1;
    static int done, cancelled;
    int rounds = getenv("FIN_FEW") ? 100 : 2000;
    for (int i = 0; i < rounds; i++) {
        fin_finish {
            for (int k = 0; k < 3; k++) {
                fin_async {
                    int r = resolve(k ? "a.test" : "l.test");
                    CHECK(r == 0 || r == -ECANCELED);
                    ++*(r == 0 ? &done : &cancelled);
                };
            }
            for (unsigned k = next_random(&seed) % 12; k > 0; k--)
                fin_yield();
            if (next_random(&seed) % 2)
                CHECK_EQ(fin_sleep_nc(next_random(&seed) % 500 * FIN_US), 0);
            fin_cancel();
        }
    }
    CHECK(cancelled > 0);
    CHECK_EQ(done + cancelled, 3 * rounds);
    CHECK_EQ(resolve("a.test"), 0);
}

int main(void) {
    dns_open(&server);
    use_server(&server, 2000, 2);
    fin_finish {
        fin_async_call(dns_serve, &server);
        in_the_middle();
        the_driver();
        race();
        fin_cancel();
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A server that resets its TCP connection fails the look-up that needed one, and no other that is under way: c-ares 1.18
// fails them all.
#include <poll.h>

#include "dns.h"

enum { OTHERS = 20, ROUNDS = 5 };

static struct dns server;
static int found, failed;

static void other(void *name) {
    int r = resolve(name);
    found += r == 0;
    if (r != 0)
        fprintf(stderr, "%s: %d\n", (char *)name, r);
}

int main(void) {
    static char names[OTHERS][32];
    for (int i = 0; i < OTHERS; i++)
        snprintf(names[i], sizeof names[i], "%s%d.test.", i % 2 ? "l" : "t", i);
    dns_open(&server);
    fin_finish {
        fin_async_call(dns_serve, &server);
        for (int round = 0; round < ROUNDS; round++) {
            use_server(&server, 2000, 3);
            fin_finish {
                for (int i = 0; i < OTHERS; i++)
                    fin_async_call(other, names[i]);
                fin_async { failed += resolve("reset.test.") < 0; };
                CHECK_EQ(fin_sleep(round * FIN_MS), 0);
                fin_async { failed += resolve("reset.again.test.") < 0; };
            }
        }
        fin_finish { // asks again, where it can be cancelled as well
            fin_async { CHECK_EQ(resolve("silent.test."), -ECANCELED); };
            fin_async { CHECK(resolve("reset.test.") < 0); };
            CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
            CHECK_EQ(fin_resolve_configure(NULL), -EBUSY);
            fin_cancel();
        }
        uint64_t before = fin_now();
        CHECK(resolve("reset.test.") < 0);
        CHECK(fin_now() - before < 60 * FIN_S); // it gives up
        fin_timeout(FIN_MS) {
            CHECK_EQ(resolve("silent.test."), -ECANCELED);
        }
        fin_cancel();
    }
    CHECK_EQ(found, OTHERS * ROUNDS);
    CHECK_EQ(failed, 2 * ROUNDS);
    return 0;
}

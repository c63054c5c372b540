// SPDX-License-Identifier: BSD-2-Clause
// A look-up that begins while another one waits for long is asked again when its own time is over, not with the other's next
// try.
#include <poll.h>

#include "dns.h"

enum { FIRST = 7, TIMEOUT_MS = 10 }; // after so many tries the next is some 64 time-outs away

static struct dns server;

static void waits(void *name) { CHECK_EQ(resolve(name), -ECANCELED); }

// Is the second asked twice more before the first is asked again? Not where the machine stood still meanwhile.
static bool in_time(void) {
    bool good = false;
    dns_open(&server);
    fin_finish {
        use_server(&server, TIMEOUT_MS, 12);
        fin_async_call(dns_serve, &server);
        fin_async_call(waits, "s1.test.");
        while (server.asked < FIRST)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        uint64_t begun = fin_now();
        fin_async_call(waits, "s2.test.");
        while (server.asked < FIRST + 3)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        good = fin_now() - begun < 32 * TIMEOUT_MS * FIN_MS;
        fin_cancel();
    }
    return good;
}

int main(void) {
    bool good = false;
    for (int i = 0; i < 10 && !good; i++)
        good = in_time();
    CHECK(good);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Times and tries, also beyond what c-ares has numbers for: a look-up waits, and neither goes round meanwhile nor ends at
// once.
#include <poll.h>

#include <fin/stats.h>

#include "dns.h"

static struct dns server; // whose sockets nobody reads

static void waits(unsigned timeout_ms, unsigned tries) {
    struct fin_stats before, after;
    int r = 0;
    use_server(&server, timeout_ms, tries);
    fin_stats(&before);
    fin_timeout(50 * FIN_MS) {
        r = resolve("a.test.");
    }
    CHECK_EQ(r, -ECANCELED);
    fin_stats(&after);
    CHECK(after.slept - before.slept < 30);
}

int main(void) {
    dns_open(&server);
    waits(3000000000u, 2);
    waits(UINT32_MAX, 2);
    waits(INT32_MAX, 2);
    waits(10, 3000000000u);
    waits(10, UINT32_MAX);
    waits(1, 30);
    return 0;
}

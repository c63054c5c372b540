// SPDX-License-Identifier: BSD-2-Clause
// What was cancelled is over when nobody waits any more, however the last one ended: no socket is left, and no server is
// asked again for it.
#include <poll.h>

#include "dns.h"
#include "process.h"

static struct dns server;

static void is_silent(void *name) { CHECK_EQ(resolve(name), -ECANCELED); }

// The last one ends by its answer, or by a cancel.
static void last(const char *name, int expected) {
    fin_finish {
        fin_async {
            fin_finish {
                fin_async_call(is_silent, "silent.1.test.");
                fin_async_call(is_silent, "silent.2.test.");
                CHECK_EQ(fin_sleep(FIN_MS), 0);
                fin_cancel();
            }
            if (expected == -ECANCELED)
                fin_cancel();
        };
        CHECK_EQ(resolve(name), expected);
    }
}

int main(void) {
    dns_open(&server);
    fin_finish {
        fin_async_call(dns_serve, &server);
        use_server(&server, 2000, 2);
        CHECK_EQ(resolve("a.test."), 0);
        int descriptors = open_descriptors();
        last("silent.3.test.", -ECANCELED);
        CHECK_EQ(open_descriptors(), descriptors);
        last("late.test.", 0);
        CHECK_EQ(open_descriptors(), descriptors);
        last("n.late.test.", -ENOENT);
        CHECK_EQ(open_descriptors(), descriptors);
        fin_cancel();
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A thread that cannot get what it waits with: the calls say so, a block with a timeout is cancelled at once, and it works
// as soon as it can.
#include <sys/resource.h>

#include "net.h"

int main(void) {
    struct rlimit before, none;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    fin_shared bool cancelled = false;
    for (int allowed = 0; allowed < 2; allowed++) {
        none = (struct rlimit){.rlim_cur = (rlim_t)(3 + allowed), .rlim_max = before.rlim_max};
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
        CHECK_EQ(fin_sleep(1), -EMFILE);
        CHECK_EQ(fin_write(2, "", 0), -EMFILE);
        fin_timeout(3600 * FIN_S) {
            fin_async { cancelled = fin_cancelled(); };
        }
        CHECK(cancelled);
        CHECK(fin_timed_out());
    }
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    CHECK_EQ(fin_sleep(1), 0);
    CHECK_EQ(fin_write(2, "", 0), 0);
    return 0;
}

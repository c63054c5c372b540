// SPDX-License-Identifier: BSD-2-Clause
// A filter that comes later than a channel, and denies membarrier(2): its senders rely on the barrier that a receiver makes
// before it sleeps. Without it a message might wake nobody, so the program ends, and says why.
#include <linux/membarrier.h>

#include "../io/deny.h"
#include "chan.h"

static unsigned error;

static void sleeps(void) {
    char p[8];
    open_kind(PAIR, 0, 0);
    deny(SYS_membarrier, error);
    fin_timeout(10 * FIN_MS) {
        fin_chan_recv(b, p, sizeof p);
    }
}

static void has_filters(void *unused) {
    (void)unused;
    deny(SYS_membarrier, EPERM);
}

int main(void) {
    static const unsigned errors[] = {EPERM, EACCES, ENOSYS};
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0)
        SKIP("no membarrier here: every sender has a fence");
    denied_ended(child(has_filters, NULL));
    for (unsigned i = 0; i < 3; i++) {
        char text[1000];
        error = errors[i];
        CHECK_EQ(killed_by(sleeps, text, sizeof text), SIGABRT);
        CHECK(strstr(text, "membarrier(2) fails"));
        CHECK(strstr(text, strerror((int)error)));
    }
    return 0;
}

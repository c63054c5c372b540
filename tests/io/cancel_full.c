// SPDX-License-Identifier: BSD-2-Clause
// More is cancelled than the queue takes at once, when it could end by itself: what makes room for a cancellation meets the
// end of its own target. Each wait ends once, and nothing late meets those that come after it in the same places.
#include <poll.h>
#include <sys/eventfd.h>

#include "net.h"

enum { WAITS = 700, ROUNDS = 20 };

static int fd, ready, refused;

static void wait_for_it(void *unused) {
    (void)unused;
    int r = fin_poll(fd, POLLIN);
    CHECK(r == POLLIN || r == -ECANCELED);
    ++*(r == POLLIN ? &ready : &refused);
}

static void waits(bool cancelled) {
    ready = refused = 0;
    fin_finish {
        for (int i = 0; i < WAITS; i++)
            fin_async_call(wait_for_it, NULL);
        CHECK_EQ(fin_sleep(FIN_US), 0); // they have gone down
        CHECK_EQ(eventfd_write(fd, 1), 0);
        if (cancelled)
            fin_cancel();
    }
    CHECK_EQ(ready + refused, WAITS);
    if (!cancelled)
        CHECK_EQ(ready, WAITS);
    eventfd_t value;
    CHECK_EQ(eventfd_read(fd, &value), 0);
}

int main(void) {
    fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    CHECK(fd >= 0);
    for (int i = 0; i < ROUNDS; i++) {
        waits(true);
        waits(false);
    }
    return 0;
}

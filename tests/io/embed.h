// SPDX-License-Identifier: BSD-2-Clause
// A loop that is not Fin's, around poll(2).
#ifndef FIN_TESTS_IO_EMBED_H
#define FIN_TESTS_IO_EMBED_H

#include <poll.h>

#include <fin.h>

#include "process.h"

static int done, rounds;

static inline bool readable(int ms) {
    struct pollfd p = {.fd = fin_embed_fd(), .events = POLLIN};
    CHECK(p.fd >= 0);
    int n = poll(&p, 1, ms);
    CHECK(n == 0 || p.revents == POLLIN);
    return n == 1;
}

// Nothing is to be done any more, at once or after a few turns, where the machine gave the thread no time.
static inline FIN_BLOCKING void settle(void) {
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(fin_embed_run(), 0);
        if (!readable(0))
            return;
    }
    CHECK(!readable(0));
}

// Callbacks, if there were any, come between poll and fin_embed_run.
static inline FIN_BLOCKING void loop_until(int all) {
    for (rounds = 0; done < all; rounds++) {
        CHECK_EQ(fin_embed_run(), 0);
        if (done < all)
            CHECK(readable(20000));
    }
}

static inline FIN_BLOCKING void sleeps(void *ms) {
    CHECK_EQ(fin_sleep((uint64_t)(uintptr_t)ms * FIN_MS), 0);
    done++;
}

static inline void in_thread(void *fd) {
    *(int *)fd = fin_embed_fd();
    CHECK(*(int *)fd >= 0);
    CHECK_EQ(fin_embed_fd(), *(int *)fd);
    done = 0;
    fin_finish {
        fin_async_call(sleeps, (void *)1);
        loop_until(1);
    }
}

#endif

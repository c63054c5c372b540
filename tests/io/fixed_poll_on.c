// SPDX-License-Identifier: BSD-2-Clause
// fin_poll_on of a registered file is told of what it asked for, as of any other, though the peer has sent its last; and is
// cancelled.
#include <fin/fixed.h>
#include <fin/on.h>
#include <poll.h>

#include "net.h"

static char much[1 << 16];
static int pair[2], number, result;
static struct fin_on on;

static void polled(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

static void polls(void *state, int n) {
    (void)state;
    CHECK_EQ(n, 0);
    fin_poll_on(&on, number, POLLOUT, polled, NULL, 0);
}

static void waits_for_room(bool cancelled) {
    stream_pair(pair);
    while (send(pair[0], much, sizeof much, MSG_DONTWAIT) > 0)
        continue;
    CHECK_EQ(shutdown(pair[1], SHUT_WR), 0);
    number = fin_file_register(pair[0]);
    CHECK(number >= 0);
    result = -EINPROGRESS;
    fin_finish {
        CHECK(fin_async_cont(polls, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        CHECK_EQ(result, -EINPROGRESS);
        while (!cancelled && recv(pair[1], much, sizeof much, MSG_DONTWAIT) > 0)
            continue;
        if (cancelled)
            fin_cancel();
    }
    CHECK(cancelled ? result == -ECANCELED : result > 0 && result & POLLOUT);
    CHECK_EQ(fin_file_unregister(number), 0);
    close(pair[0]);
    close(pair[1]);
}

int main(void) {
    waits_for_room(false);
    waits_for_room(true);
    return 0;
}

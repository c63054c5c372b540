// SPDX-License-Identifier: BSD-2-Clause
// Who polls for no event waits for the end of the connection: with a stack or without, alone or beside somebody who takes a
// part of what comes; and is cancelled.
#include <fin/on.h>
#include <poll.h>

#include "net.h"

static int pair[2], result;
static struct fin_on on;

static void polled(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

static void polls(void *state, int n) {
    (void)state;
    CHECK_EQ(n, 0);
    fin_poll_on(&on, pair[0], 0, polled, NULL, 0);
}

static void poll_it(void *unused) {
    (void)unused;
    result = fin_poll(pair[0], 0);
}

static void take_a_part(void) {
    char c;
    CHECK_EQ(fin_recv(pair[0], &c, 1, 0), 1);
}

static void waits_for_the_end(bool with_stack, bool beside, bool cancelled) {
    stream_pair(pair);
    result = -EINPROGRESS;
    fin_finish {
        if (with_stack)
            fin_async_call(poll_it, NULL);
        else
            CHECK(fin_async_cont(polls, NULL, 0) != NULL);
        if (beside) {
            fin_async { take_a_part(); };
        }
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(send(pair[1], "two", 2, 0), 2);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(result, -EINPROGRESS);
        if (cancelled)
            fin_cancel();
        else
            close(pair[1]);
    }
    CHECK(cancelled ? result == -ECANCELED : result > 0 && result & POLLHUP);
    close(pair[0]);
    if (cancelled)
        close(pair[1]);
}

int main(void) {
    for (int i = 0; i < 8; i++)
        waits_for_the_end(i & 1, i & 2, i & 4);
    return 0;
}

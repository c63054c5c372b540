// SPDX-License-Identifier: BSD-2-Clause
// Two closes of one number are cancelled, in either order, and nothing is closed: who waits there goes on.
#include <fcntl.h>

#include "net.h"

static int pair[2], sent, left;
static char much[1 << 20];

static void sends(void *unused) {
    (void)unused;
    sent = (int)fin_send(pair[0], "x", 1, 0);
}

static void closes(void *unused) {
    (void)unused;
    int r = fin_close(pair[0]);
    CHECK(r == -ECANCELED || on_epoll());
    left--;
}

static void closes_second(void *unused) {
    fin_yield();
    closes(unused);
}

// The first one begun is cancelled first, or the second one. None has gone down by then.
static void both_cancelled(bool first_first) {
    stream_pair(pair);
    while (send(pair[0], much, sizeof much, MSG_DONTWAIT) > 0)
        continue;
    sent = 0;
    left = 2;
    fin_finish {
        fin_async_call(sends, NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_finish_as(outer) {
            fin_async_call(first_first ? closes_second : closes, NULL);
            fin_finish_as(inner) {
                fin_async_call(closes, NULL);
                if (first_first)
                    fin_yield();
                fin_cancel_as(inner);
                for (int i = 0; left > 1 && i < 100; i++)
                    fin_yield();
                fin_cancel_as(outer);
            }
        }
        while (recv(pair[1], much, sizeof much, MSG_DONTWAIT) > 0)
            continue;
    }
    CHECK(sent == 1 || on_epoll());
    if (!on_epoll())
        close(pair[0]);
    close(pair[1]);
}

int main(void) {
    for (int i = 0; i < 2; i++)
        both_cancelled(i);
    return 0;
}

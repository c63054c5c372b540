// SPDX-License-Identifier: BSD-2-Clause
// What a chain is to close is open until its turn comes: who uses it meanwhile goes on, and so does he where the chain ends
// before that, by an error or a cancel.
#include <fin/linked.h>

#include "net.h"

enum { CLOSES, FAILS, IS_CANCELLED };

static int pair[2], first[2], sent;
static char much[1 << 20], c;

static void sends(void *unused) {
    (void)unused;
    sent = (int)fin_send(pair[0], "x", 1, 0);
}

static void receive_all(void) {
    while (recv(pair[1], much, sizeof much, MSG_DONTWAIT) > 0)
        continue;
}

static void used_meanwhile(int how) {
    fin_shared int n = -1;
    stream_pair(pair);
    stream_pair(first);
    struct fin_step fails[] = {fin_step_recv(first[0], &c, 1, 0), fin_step_fsync(first[0]), fin_step_close(pair[0])};
    struct fin_step closes[] = {fails[0], fails[2]}, *s = how == FAILS ? fails : closes;
    sent = 0;
    while (send(pair[0], much, sizeof much, MSG_DONTWAIT) > 0)
        continue;
    fin_finish {
        fin_async_call(sends, NULL);
        fin_finish_as(chain) {
            fin_async { n = fin_linked(s, how == FAILS ? 3 : 2); };
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            receive_all();
            for (int i = 0; sent == 0 && i < 10000; i++)
                CHECK_EQ(fin_sleep(FIN_MS), 0);
            CHECK_EQ(sent, 1);
            if (how == IS_CANCELLED)
                fin_cancel_as(chain);
            else
                CHECK_EQ(write(first[1], "x", 1), 1);
        }
    }
    CHECK_EQ(n, how == CLOSES ? 2 : how == FAILS ? 1 : -ECANCELED);
    receive_all();
    CHECK_EQ(recv(pair[1], &c, 1, MSG_DONTWAIT), how == CLOSES ? 0 : -1);
    if (how != CLOSES)
        close(pair[0]);
    close(pair[1]);
    close(first[0]);
    close(first[1]);
}

int main(void) {
    used_meanwhile(CLOSES);
    used_meanwhile(FAILS); // a socket has nothing to sync
    used_meanwhile(IS_CANCELLED);
    return 0;
}

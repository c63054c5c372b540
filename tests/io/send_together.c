// SPDX-License-Identifier: BSD-2-Clause
// Thousands that wait without a stack for room in one socket, and hear of it at once: each sends, and most have to wait
// again, while the submission queue is full all the time. A small stack is enough for that, and what completes is counted
// once.
#include <fin/stats.h>

#include "send_on_many.h"

static int fd[2];

int main(void) {
    static char room[65536];
    struct fin_stats stats;
    CHECK_EQ(fin_set_stack_size(32 << 10), 0);
    stream_pair(fd);
    to = fd[1];
    while (send(to, room, sizeof room, MSG_DONTWAIT) > 0)
        ;
    fin_finish {
        for (int i = 0; i < MOST; i++) {
            struct fin_on *its = &on[i];
            CHECK(fin_async_cont(send_one, &its, sizeof its) != NULL);
        }
        while (sent < MOST) {
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            while (recv(fd[0], room, sizeof room, MSG_DONTWAIT) > 0)
                ;
        }
    }
    fin_stats(&stats);
    CHECK(stats.completions <= stats.requests);
    return 0;
}

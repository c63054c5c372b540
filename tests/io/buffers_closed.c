// SPDX-License-Identifier: BSD-2-Clause
// A descriptor is closed by fin_close while a receive of many buffers waits on a thread of the ring, and a socket without
// data gets its number. When the kernel's wait ends for a time of the socket's own, the receive ends: it does not go on with
// the other one.
#include "into_buffers.h"

static void becomes_another(int i) {
    CHECK_EQ(fin_close(fd[i]), 0);
    CHECK_EQ(socket(AF_INET, SOCK_DGRAM, 0), fd[i]);
}

int main(void) {
    alarm(30);
    open_both(2);
    give_times();
    fin_finish {
        fin_async_call(receives, NULL);
        CHECK(fin_async_cont(receives_on, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        becomes_another(0);
        becomes_another(1);
    }
    CHECK_EQ(got[0], -EBADF);
    CHECK_EQ(got[1], -EBADF);
    CHECK_EQ(fin_buffers_close(buffers), 0);
    return 0;
}

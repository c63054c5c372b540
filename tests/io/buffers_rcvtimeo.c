// SPDX-License-Identifier: BSD-2-Clause
// A socket may have a time after which a receive gives up (SO_RCVTIMEO). Who waits on a thread of the ring with a buffer
// already chosen, as for one that is ready for ever, waits on all the same, and the buffer is one of the group again.
#include "into_buffers.h"

enum { PIECES = 2, TIMES = 10 };

int main(void) {
    alarm(30);
    open_both(PIECES);
    give_times();
    CHECK_EQ(fin_buffers_recv(buffers, fd[0], &piece[0], MSG_DONTWAIT), -EAGAIN);
    fin_finish {
        fin_async_call(receives, NULL);
        CHECK(fin_async_cont(receives_on, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(TIMES * 5 * FIN_MS), 0);
        send_to_both();
    }
    check_both(PIECES);
    return 0;
}

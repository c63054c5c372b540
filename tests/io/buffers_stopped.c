// SPDX-License-Identifier: BSD-2-Clause
// Who waits on a thread of the ring with a buffer already chosen, as for a socket that is ready for ever, is interrupted
// where the process is stopped: the wait goes on, and the buffer is one of the group again.
#define _GNU_SOURCE
#include "into_buffers.h"
#include "stops.h"

enum { STOPS = 5, PIECES = 4 };

static void waits(int told, int tell) {
    char c;
    open_both(PIECES);
    fin_finish {
        fin_async_call(receives, NULL);
        CHECK(fin_async_cont(receives_on, NULL, 0) != NULL);
        CHECK_EQ(fin_write(tell, "x", 1), 1);
        CHECK_EQ(fin_read(told, &c, 1), 1);
        send_to_both();
    }
    check_both(PIECES);
}

int main(void) {
    stop_while(waits, STOPS, 20000);
    return 0;
}

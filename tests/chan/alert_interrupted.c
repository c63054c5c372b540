// SPDX-License-Identifier: BSD-2-Clause
// The kernel, or what stands before it, interrupts the look at what an alert is for, as often as it likes: the message is
// handled.
#include <errno.h>
#include <sys/epoll.h>

#include "alert.h"

static int interruptions;

int __real_epoll_wait(int fd, struct epoll_event *events, int most, int ms);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int ms);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int ms) {
    if (interruptions == 0)
        return __real_epoll_wait(fd, events, most, ms);
    interruptions--;
    errno = EINTR;
    return -1;
}

int main(void) {
    needs_signals();
    open_set(SOCKET, 1);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        for (unsigned i = 0; i < 4; i++) {
            CHECK_EQ(fin_chan_send_nc(a, &i, sizeof i), 0);
            interruptions = (int)i;
            fin_alert_enable();
            CHECK_EQ(handled, i + 1);
            fin_alert_disable();
            CHECK_EQ(interruptions, 0);
        }
        fin_cancel_as(all);
    }
    fin_waitset_close(w);
    close_both();
    return 0;
}

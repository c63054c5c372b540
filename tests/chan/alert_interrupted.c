// SPDX-License-Identifier: BSD-2-Clause
// The kernel, or what stands before it, interrupts the look at what an alert is for, as often as it likes: the message is
// handled. Where it tells of as many rings for nothing as there is room for, again and again, that look ends all the same.
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "alert.h"

static int interruptions, floods;
static bool flooded;

int __real_epoll_wait(int fd, struct epoll_event *events, int most, int ms);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int ms);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int ms) {
    if (flooded && ms == 0) {
        floods++;
        memset(events, 0, (size_t)most * sizeof *events); // the set's own bell
        return most;
    }
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
        CHECK_EQ(fin_chan_send_nc(a, &(unsigned){4}, sizeof(unsigned)), 0);
        flooded = true;
        fin_alert_enable();
        flooded = false;
        fin_alert_disable();
        CHECK(floods > 0);
        fin_cancel_as(all);
    }
    fin_waitset_close(w);
    close_both();
    return 0;
}

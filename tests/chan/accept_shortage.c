// SPDX-License-Identifier: BSD-2-Clause
// The system has no room for another descriptor under way, for a moment or for long: a client is not turned away for the
// moment, and the server is told of what lasts. One that has gone is none.
#include "chan.h"

#include <sys/syscall.h>

enum { LONG = 1000 };

static int failures, error = ETOOMANYREFS;

// The library's call comes here.
ssize_t sendmsg(int fd, const struct msghdr *m, int flags) {
    if (failures > 0 && m->msg_controllen) {
        failures--;
        errno = error;
        return -1;
    }
    return syscall(SYS_sendmsg, fd, m, flags);
}

static char name[64];
static struct fin_chan_listener *l;
static int connected;

static void connects(void *unused) {
    struct fin_chan *c;
    (void)unused;
    connected = fin_chan_connect(&c, name, 0);
    if (connected == 0)
        CHECK_EQ(fin_chan_close(c), 0);
}

static int accepts(void) {
    struct fin_chan *c;
    int r;
    fin_finish {
        fin_async_call(connects, NULL);
        r = fin_chan_accept(l, &c);
        if (r == 0)
            CHECK_EQ(fin_chan_close(c), 0);
    }
    return r;
}

int main(void) {
    alarm(60);
    snprintf(name, sizeof name, "@accept_shortage-%d", (int)getpid());
    CHECK_EQ(fin_chan_listen(&l, name, NULL), 0);
    CHECK_EQ(accepts(), 0);
    int before = open_descriptors();
    failures = 3;
    CHECK_EQ(accepts(), 0);
    CHECK_EQ(connected, 0);
    failures = LONG;
    CHECK_EQ(accepts(), -ETOOMANYREFS);
    CHECK_EQ(connected, -ECONNRESET);
    CHECK_EQ(open_descriptors(), before);
    failures = 1;
    error = EPIPE;
    fin_finish {
        fin_async_call(connects, NULL);
        CHECK_EQ(accepts(), 0);
    }
    CHECK_EQ(open_descriptors(), before);
    fin_chan_listener_close(l);
    return 0;
}

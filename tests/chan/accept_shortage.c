// SPDX-License-Identifier: BSD-2-Clause
// The system has no room for another descriptor under way, for a moment or for long: a client is not turned away for the
// moment, nor by a cancel in that moment, and the server is told of what lasts. One that has gone is none. It is the same
// for a server without a stack.
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

static struct fin_chan *end;
static struct fin_chan_on on;
static bool without_stack;
static int result;

static void accepted(void *state, int r) {
    (void)state;
    result = r;
    if (r == 0)
        CHECK_EQ(fin_chan_close(end), 0);
    fin_cont_end();
}

static void begin(void *state, int unused) {
    (void)unused;
    fin_chan_accept_on(l, &end, &on, accepted, state, 0);
    CHECK(false);
}

static void accept_one(void *unused) {
    if (without_stack)
        begin(unused, 0);
    result = fin_chan_accept(l, &end);
    if (result == 0)
        CHECK_EQ(fin_chan_close(end), 0);
}

static int accepts(void) {
    fin_finish {
        fin_async_call(connects, NULL);
        fin_async_call(accept_one, NULL);
    }
    return result;
}

static void one_way(void) {
    int before = open_descriptors();
    error = ETOOMANYREFS;
    failures = 3;
    CHECK_EQ(accepts(), 0);
    CHECK_EQ(connected, 0);
    failures = 4;
    fin_finish {
        fin_async_call(connects, NULL);
        fin_finish {
            fin_async_call(accept_one, NULL);
            while (failures == 4)
                CHECK_EQ(fin_sleep_nc(FIN_US), 0);
            fin_cancel();
        }
    }
    CHECK_EQ(result, 0);
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
    failures = 0;
}

int main(void) {
    alarm(60);
    snprintf(name, sizeof name, "@accept_shortage-%d", (int)getpid());
    CHECK_EQ(fin_chan_listen(&l, name, NULL), 0);
    CHECK_EQ(accepts(), 0);
    one_way();
    without_stack = true;
    one_way();
    fin_chan_listener_close(l);
    return 0;
}

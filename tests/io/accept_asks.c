// SPDX-License-Identifier: BSD-2-Clause
// An accept that finds nothing waits, and asks nothing else of the kernel before. On epoll it asks after the first wait
// whether a Unix socket is shut down, also one that was so before: what came until then is accepted, and no more.
#define _GNU_SOURCE
#include <poll.h>

#include "net.h"

static int listener, asked, taken;
static struct sockaddr_un name;
static socklen_t size;

// In place of libc's.
int poll(struct pollfd *fds, nfds_t count, int ms) {
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    int r = ppoll(fds, count, ms < 0 ? NULL : &time, NULL);
    asked += count == 1 && fds->fd == listener;
    return r;
}

static void take_one(void *unused) {
    (void)unused;
    taken = fin_accept(listener, NULL, NULL);
}

static int knock(void) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&name, size), 0);
    return fd;
}

static void waits(void) {
    int other = -1;
    asked = 0;
    fin_finish {
        fin_async_call(take_one, NULL);
        other = knock();
    }
    CHECK(taken >= 0);
    CHECK_EQ(asked, 0);
    close(taken);
    close(other);
}

static void shut_before(void) {
    int other = knock();
    CHECK_EQ(shutdown(listener, SHUT_RDWR), 0);
    take_one(NULL);
    CHECK(taken >= 0);
    close(taken);
    close(other);
    for (int i = 0; i < 2; i++) {
        take_one(NULL);
        CHECK_EQ(taken, -EINVAL);
    }
}

int main(void) {
    listener = unix_listen(&name, &size, 4);
    for (int i = 0; i < 3; i++)
        waits();
    shut_before();
    close(listener);
    return 0;
}

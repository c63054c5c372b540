// SPDX-License-Identifier: BSD-2-Clause
// A close that has begun, and that the file system interrupts, has closed the descriptor: it says so, also where it has been
// cancelled meanwhile. Here the file system is a process, and the file its root.
#define _GNU_SOURCE
#include "fuse.h"

static int flushed[2], go_on[2], fd, closed = 1;

static int flush(void) {
    char c = 0;
    CHECK_EQ(write(flushed[1], &c, 1), 1);
    CHECK_EQ(read(go_on[0], &c, 1), 1);
    return -EINTR;
}

int main(void) {
    char path[] = "/tmp/fin-close-XXXXXX", c;
    int mark = mkstemp(path);
    CHECK_EQ(pipe(flushed), 0);
    CHECK_EQ(pipe(go_on), 0);
    alarm(30);
    pid_t server = mount_over(path, flush);
    if (server < 0) {
        unlink(path);
        SKIP("no file system can be mounted");
    }
    fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    if (on_epoll())
        CHECK_EQ(write(go_on[1], "x", 1), 1);
    fin_finish {
        fin_async { closed = fin_close(fd); };
        CHECK_EQ(fin_read(flushed[0], &c, 1), 1);
        fin_cancel();
        if (!on_epoll())
            CHECK_EQ(write(go_on[1], "x", 1), 1);
    }
    CHECK_EQ(closed, 0);
    CHECK_EQ(fcntl(fd, F_GETFD), -1);
    close(mark);
    unmount(path, server);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A file system may say ECANCELED of a close, as where somebody stopped what it had to write. Here that would mean that the
// descriptor is open: it is closed, and the error is another.
#define _GNU_SOURCE
#include "fuse.h"

static int flush(void) { return -ECANCELED; }

int main(void) {
    char path[] = "/tmp/fin-close-XXXXXX";
    int mark = mkstemp(path);
    alarm(30);
    pid_t server = mount_over(path, flush);
    if (server < 0) {
        unlink(path);
        SKIP("no file system can be mounted");
    }
    int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQ(fin_close(fd), -EIO);
    CHECK_EQ(fcntl(fd, F_GETFD), -1);
    close(mark);
    unmount(path, server);
    return 0;
}

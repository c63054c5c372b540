// SPDX-License-Identifier: BSD-2-Clause
// An open that waits in a kernel thread, for the end of a lease: cancelled, it opened nothing; left alone, it opens.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>

#include "net.h"

static char path[] = "/tmp/fin-lease-XXXXXX";

int main(void) {
    if (on_epoll())
        SKIP("without io_uring an open that has begun is not cancelled");
    signal(SIGIO, SIG_IGN);
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    for (int i = 0; i < 3; i++) {
        if (fcntl(fd, F_SETLEASE, F_WRLCK) != 0)
            SKIP("no leases on the files here");
        fin_shared int opened = 0;
        fin_finish {
            fin_async { opened = fin_openat(AT_FDCWD, path, O_RDONLY, 0); };
            CHECK_EQ(fin_sleep((uint64_t)i * 5 * FIN_MS), 0);
            CHECK_EQ(opened, 0);
            fin_cancel();
        }
        CHECK_EQ(opened, -ECANCELED);
        fin_finish {
            fin_async { opened = fin_openat(AT_FDCWD, path, O_RDONLY, 0); };
            CHECK_EQ(fin_sleep((uint64_t)i * FIN_MS), 0);
            fcntl(fd, F_SETLEASE, F_UNLCK);
        }
        CHECK(opened > 0);
        CHECK_EQ(fin_close(opened), 0);
    }
    unlink(path);
    return 0;
}

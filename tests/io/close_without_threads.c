// SPDX-License-Identifier: BSD-2-Clause
// The files of some file systems, overlayfs among them, are closed on a thread of the ring. Where that gets none, as where
// the user may have no more, the descriptor is closed all the same.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fin/io.h>

#include "check.h"

int main(void) {
    struct rlimit before, none;
    char name[32];
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    CHECK_EQ(getrlimit(RLIMIT_NPROC, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) // root may have any number of them
        SKIP("there is no other user");
    snprintf(name, sizeof name, "fin-close-%d", (int)getpid());
    int queue = (int)syscall(SYS_mq_open, name, O_RDWR | O_CREAT | O_EXCL, 0600, NULL);
    if (queue < 0)
        SKIP("there are no message queues, or too many");
    CHECK_EQ(syscall(SYS_mq_unlink, name), 0);
    CHECK_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
    CHECK_EQ(fin_close(queue), 0);
    CHECK_EQ(fcntl(queue, F_GETFD), -1);
    CHECK_EQ(fin_close(queue), -EBADF);
    CHECK_EQ(setrlimit(RLIMIT_NPROC, &before), 0);
    return 0;
}

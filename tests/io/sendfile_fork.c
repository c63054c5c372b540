// SPDX-License-Identifier: BSD-2-Clause
// The child of a fork cancels a fin_sendfile of its parent's that has sent a part: that ends in the child, and the position
// of the file, which both have, is moved by the parent only.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

#include "net.h"

enum { SIZE = 4 << 20 };

static int file, fd[2];
static ssize_t result;

static void send_it(void *unused) {
    (void)unused;
    result = fin_sendfile(fd[0], file, NULL, SIZE);
}

static void in_parent(pid_t child) {
    static char room[65536];
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(lseek(file, 0, SEEK_CUR), 0);
    for (ssize_t n = 0, r; n < SIZE; n += r)
        CHECK((r = fin_recv(fd[1], room, sizeof room, 0)) > 0);
}

int main(void) {
    pid_t child;
    stream_pair(fd);
    file = memfd_create("file", MFD_CLOEXEC);
    CHECK(file >= 0);
    CHECK_EQ(ftruncate(file, SIZE), 0);
    fin_finish {
        fin_async_eager_call(send_it, NULL);
        CHECK_EQ(fin_poll(fd[1], POLLIN), POLLIN); // a part has been sent
        child = fork();
        CHECK(child >= 0);
        if (child == 0)
            fin_cancel();
        else
            in_parent(child);
    }
    if (child == 0) {
        CHECK(result > 0);
        _exit(0);
    }
    CHECK_EQ(result, SIZE);
    CHECK_EQ(lseek(file, 0, SEEK_CUR), SIZE);
    return 0;
}

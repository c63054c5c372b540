// SPDX-License-Identifier: BSD-2-Clause
// A file system may say ECANCELED of a close, as where somebody stopped what it had to write. Here that would mean that the
// descriptor is open: it is closed, and the error is another. What is to be sent there later finds it closed, too.
#define _GNU_SOURCE
#include <fin/on.h>

#include "fuse.h"

static struct fin_more_on closing;
static struct fin_on sending;
static int closed, sent;

static int flush(void) { return -ECANCELED; }

static void ended(void *state, int r) {
    **(int **)state = r;
    fin_cont_end();
}

static void closes(void *state, int unused) {
    int *p = &closed;
    (void)unused;
    fin_close_on(&closing, *(int *)state, ended, &p, sizeof p);
}

static uint64_t its_time;

static void sends_later(void *state, int unused) {
    int *p = &sent;
    (void)unused;
    fin_send_at_on(&sending, its_time, *(int *)state, "x", 1, 0, ended, &p, sizeof p);
}

// False: it was time before the other file had the number.
static bool without_a_stack(const char *path, uint64_t ns) {
    int other[2], fd = open(path, O_RDWR | O_CLOEXEC);
    bool early;
    char c;
    CHECK(fd >= 0);
    its_time = fin_now() + ns;
    fin_finish {
        CHECK(fin_async_cont(sends_later, &fd, sizeof fd) != NULL);
        fin_yield();
        fin_finish {
            CHECK(fin_async_cont(closes, &fd, sizeof fd) != NULL);
        }
        CHECK_EQ(closed, -EIO);
        stream_pair(other);
        CHECK_EQ(other[0], fd);
        early = fin_now() < its_time;
    }
    CHECK(sent == -EBADF || !early);
    CHECK_EQ(recv(other[1], &c, 1, MSG_DONTWAIT), -1);
    close(other[0]);
    close(other[1]);
    return early;
}

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
    for (uint64_t ns = 20 * FIN_MS; !without_a_stack(path, ns); ns *= 2)
        continue;
    close(mark);
    unmount(path, server);
    return 0;
}

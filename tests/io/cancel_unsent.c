// SPDX-License-Identifier: BSD-2-Clause
// Requests cancelled in the run that made them, before they went down: each did its work or not, and says which. Also more
// of them than the queue holds, so that some went down and some did not.
#include <fcntl.h>
#include <sys/ioctl.h>

#include "net.h"

enum { WRITES = 700 };

static int pipes[2], sent, refused;

static void write_one(void *unused) {
    (void)unused;
    ssize_t n = fin_write(pipes[1], "x", 1);
    CHECK(n == 1 || n == -ECANCELED);
    ++*(n == 1 ? &sent : &refused);
}

static void some_writes(int count) {
    sent = refused = 0;
    fin_finish {
        for (int i = 0; i < count; i++)
            fin_async_call(write_one, NULL);
        fin_cancel();
    }
    int n;
    char all[WRITES];
    CHECK_EQ(sent + refused, count);
    CHECK_EQ(ioctl(pipes[0], FIONREAD, &n), 0);
    CHECK_EQ(n, sent);
    CHECK(n == 0 || read(pipes[0], all, sizeof all) == n);
}

// One write at once after another was taken back: its place in the queue is not the next one's.
static void between(void) {
    fin_shared ssize_t first = 0, second = 0;
    fin_finish {
        fin_async {
            fin_finish {
                fin_async { first = fin_write(pipes[1], "1", 1); };
                fin_cancel();
            }
        };
        fin_async { second = fin_write(pipes[1], "2", 1); };
    }
    char c[3];
    CHECK_EQ(second, 1);
    CHECK_EQ(read(pipes[0], c, sizeof c), first == 1 ? 2 : 1);
    CHECK_EQ(c[first == 1], '2');
}

// A close that was taken back has not closed.
static void closing(void) {
    int fd = dup(0);
    fin_shared int n = 1;
    fin_finish {
        fin_async { n = fin_close(fd); };
        fin_cancel();
    }
    CHECK(n == 0 || n == -ECANCELED);
    CHECK_EQ(fcntl(fd, F_GETFD), n == 0 ? -1 : 0);
    if (n != 0)
        close(fd);
}

int main(void) {
    CHECK_EQ(pipe(pipes), 0);
    for (int count = 1; count <= WRITES; count += count < 10 ? 1 : 69)
        some_writes(count);
    for (int i = 0; i < 10; i++) {
        between();
        closing();
    }
    some_writes(5);
    if (!on_epoll()) { // there each is done at once
        CHECK_EQ(refused, 5);
        CHECK_EQ(sent, 0);
    }
    return 0;
}

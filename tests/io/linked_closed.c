// SPDX-License-Identifier: BSD-2-Clause
// A chain waits, and fin_close closes the descriptor of its steps, whose number is another file's at once: none of the steps
// goes on with that one.
#define _GNU_SOURCE
#include <fin/linked.h>
#include <sys/mman.h>

#include "net.h"

static int fd[2], other[2], count;
static char got[4];
static struct fin_step steps[2];

static void receive_twice(void *unused) {
    (void)unused;
    steps[0] = fin_step_recv(fd[0], got, 2, MSG_WAITALL);
    steps[1] = fin_step_recv(fd[0], got + 2, 2, MSG_WAITALL);
    count = fin_linked(steps, 2);
}

// In the place of fd[0], with something to be received.
static void open_other(void) {
    stream_pair(other);
    if (other[1] == fd[0]) {
        int first = other[0];
        other[0] = other[1];
        other[1] = first;
    }
    CHECK_EQ(other[0], fd[0]);
    CHECK_EQ(send(other[1], "bad", 3, 0), 3);
}

static void once(int before) {
    char rest[8];
    stream_pair(fd);
    int keep = dup(fd[0]);
    memset(got, 0, sizeof got);
    CHECK_EQ(send(fd[1], "ab", (size_t)before, 0), before);
    fin_finish {
        fin_async_call(receive_twice, NULL);
        if (before < 2)
            CHECK_EQ(fin_sleep(1), 0); // it waits in the system
        CHECK_EQ(fin_close(fd[0]), 0);
        open_other();
        CHECK_EQ(send(fd[1], "cdef", 4, MSG_NOSIGNAL), 4);
        fin_sleep(FIN_MS);
        fin_cancel();
    }
    CHECK(steps[1].result < 0);
    CHECK(count >= 0 && count < 2);
    ssize_t n = 0;
    for (int i = 0; i < 2; i++)
        n += steps[i].result > 0 ? steps[i].result : 0;
    CHECK(memcmp(got, before == 0 ? "cdef" : before == 1 ? "acdef" : "abcdef", (size_t)n) == 0);
    CHECK_EQ(recv(other[0], rest, sizeof rest, MSG_DONTWAIT), 3);
    CHECK_EQ(recv(keep, rest, sizeof rest, MSG_DONTWAIT), 4 + before - n);
    close(keep);
    close(fd[1]);
    close(other[0]);
    close(other[1]);
}

static void runs(void *all) { count = fin_linked(all, 3); }

// The first step waits, and what is closed is a later one's, too: be that in the ring already, or to be run afterwards.
static void ends(bool at_once) {
    struct fin_step all[3];
    int file = memfd_create("of another step", MFD_CLOEXEC);
    stream_pair(fd);
    all[0] = fin_step_recv(fd[0], got, 1, 0);
    all[1] = at_once ? fin_step_fsync(file) : fin_step_close(file);
    all[2] = fin_step_write(fd[0], "x", 1);
    fin_finish {
        fin_async_call(runs, all);
        CHECK_EQ(fin_sleep(1), 0);
        CHECK_EQ(fin_close(fd[0]), 0);
    }
    CHECK_EQ(count, 0);
    CHECK_EQ(all[0].result, -EBADF);
    CHECK_EQ(all[1].result, -ECANCELED);
    close(file);
    close(fd[1]);
}

int main(void) {
    alarm(50);
    for (int before = 0; before <= 2; before++)
        once(before);
    ends(true);
    ends(false);
    return 0;
}

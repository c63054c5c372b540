// SPDX-License-Identifier: BSD-2-Clause
// An fsync that fails ends its chain as any other step does: what follows, and may tell somebody that the data is safe, is
// not begun. Linux lets a ring go on after it.
#include <fin/linked.h>

#include "net.h"

static int fd[2], file;
static char data[2] = "ab", got[2];

static void nothing_comes(void) {
    CHECK_EQ(recv(fd[1], got, sizeof got, MSG_DONTWAIT), -1);
    CHECK_EQ(errno, EAGAIN);
}

// Of a socket it fails.
static void fails(void) {
    struct fin_step s[] = {fin_step_pwrite(file, data, 2, 0), fin_step_fsync(fd[0]), fin_step_send(fd[0], "x", 1, 0),
                           fin_step_pwrite(file, "c", 1, 0)};
    CHECK_EQ(fin_linked(s, 4), 1);
    CHECK_EQ(s[0].result, 2);
    CHECK_EQ(s[1].result, -EINVAL);
    CHECK_EQ(s[2].result, -ECANCELED);
    CHECK_EQ(s[3].result, -ECANCELED);
    nothing_comes();
    CHECK(pread(file, got, 2, 0) == 2 && memcmp(got, data, 2) == 0);
    CHECK_EQ(fin_linked(s + 1, 2), 0);
    nothing_comes();
}

static void goes_on(void) {
    struct fin_step s[] = {fin_step_pwrite(file, data, 2, 0), fin_step_fsync(file), fin_step_send(fd[0], "x", 1, 0),
                           fin_step_fsync(file), fin_step_recv(fd[0], got, 1, 0)};
    CHECK_EQ(send(fd[1], "y", 1, 0), 1);
    CHECK_EQ(fin_linked(s, 5), 5);
    CHECK_EQ(got[0], 'y');
    CHECK_EQ(recv(fd[1], got, sizeof got, MSG_DONTWAIT), 1);
}

// What follows is cancelled as what came before.
static void is_cancelled(void) {
    static struct fin_step s[3];
    s[0] = fin_step_fsync(file);
    s[1] = fin_step_recv(fd[0], got, 1, 0);
    s[2] = fin_step_send(fd[0], "x", 1, 0);
    fin_shared int r = 0;
    fin_finish {
        fin_async { r = fin_linked(s, 3); };
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        fin_cancel();
    }
    CHECK(r == 1 || r == -ECANCELED);
    CHECK_EQ(s[1].result, -ECANCELED);
    CHECK_EQ(s[2].result, -ECANCELED);
    nothing_comes();
}

int main(void) {
    stream_pair(fd);
    file = nameless_file();
    fails();
    goes_on();
    is_cancelled();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// RWF_NOWAIT on a registered pipe that cannot tell the kernel whether it would wait, as after a splice: it is asked whether
// it is ready, as one that is not registered.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/uio.h>

#include <fin/fixed.h>

#include "net.h"

static void try_it(int from, int to) {
    char text[4] = "abc", back[4] = "";
    struct iovec out = {text, 3}, in = {back, 3};
    CHECK_EQ(fin_preadv2(from, &in, 1, -1, RWF_NOWAIT), -EAGAIN);
    CHECK_EQ(fin_pwritev2(to, &out, 1, -1, RWF_NOWAIT), 3);
    CHECK_EQ(fin_preadv2(from, &in, 1, -1, RWF_NOWAIT), 3);
    CHECK(strcmp(back, "abc") == 0);
    CHECK_EQ(fin_pwritev2(to, &out, 1, -1, 1 << 20), -EOPNOTSUPP);
}

int main(void) {
    int pipes[2], other[2];
    char c;
    CHECK_EQ(pipe(pipes), 0);
    CHECK_EQ(pipe(other), 0);
    CHECK_EQ(write(other[1], "x", 1), 1);
    CHECK_EQ(splice(other[0], NULL, pipes[1], NULL, 1, 0), 1);
    CHECK_EQ(splice(pipes[0], NULL, other[1], NULL, 1, 0), 1);
    CHECK_EQ(read(other[0], &c, 1), 1);
    try_it(pipes[0], pipes[1]);
    int from = fin_file_register(pipes[0]), to = fin_file_register(pipes[1]);
    CHECK(from > 0 && to > 0);
    try_it(from, to);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// While a splice from descriptor 0 waits for room in a socket, its pipe can be used, as that of any other number
// (splice_locks.c). So it can while a tee from there waits.
#define _GNU_SOURCE
#include "kernels.h"
#include "net.h"

static int pipes[2], other[2], sockets[2];

static void fill(int socket) {
    static const char zeros[65536];
    while (send(socket, zeros, sizeof zeros, MSG_DONTWAIT) > 0)
        ;
}

static void splices(void) {
    fin_shared ssize_t n = 0;
    char c[4] = "";
    fill(sockets[1]);
    CHECK_EQ(write(pipes[1], "abc", 3), 3);
    fin_finish {
        fin_async { n = fin_splice(0, NULL, sockets[1], NULL, 3, 0); };
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        CHECK_EQ(fin_write(pipes[1], "d", 1), 1);
        CHECK_EQ(fin_read(0, c, 3), 3);
        CHECK(strcmp(c, "abc") == 0);
        fin_cancel();
    }
    CHECK_EQ(n, -ECANCELED);
    CHECK_EQ(fin_read(0, c, 3), 1);
    CHECK_EQ(c[0], 'd');
}

static void tees(void) {
    fin_shared ssize_t n = 0;
    char c[4] = "";
    fin_finish {
        fin_async { n = fin_tee(0, other[1], 3, 0); };
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        CHECK_EQ(fin_write(pipes[1], "ef", 2), 2);
    }
    CHECK_EQ(n, 2);
    CHECK_EQ(fin_read(0, c, 3), 2);
    CHECK_EQ(fin_read(other[0], c, 3), 2);
    CHECK(strcmp(c, "ef") == 0);
}

int main(void) {
    CHECK_EQ(fin_sleep(1), 0); // from now on the thread has what it waits with
    close(0);
    CHECK_EQ(pipe(pipes), 0);
    CHECK_EQ(pipes[0], 0);
    CHECK_EQ(pipe(other), 0);
    stream_pair(sockets);
    if (splices_wait_for_room())
        splices();
    tees();
    return 0;
}

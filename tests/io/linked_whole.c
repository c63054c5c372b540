// SPDX-License-Identifier: BSD-2-Clause
// A step that is to receive all waits for all, in however many pieces that comes; what follows begins after that. Where the
// end or a cancel comes before, it says what has come.
#include <fin/linked.h>

#include "net.h"

enum { ALL = 10, FIRST = 4 };
static int fd[2];
static char got[ALL];

static void sends(const char *data, size_t size) { CHECK_EQ(fin_send(fd[1], data, size, 0), (ssize_t)size); }

static void receives(void *arg) {
    struct fin_step *steps = arg;
    steps[0] = fin_step_recv(fd[0], got, ALL, MSG_WAITALL);
    steps[1] = fin_step_send(fd[0], "after", 5, 0);
    fin_linked(steps, 2);
}

static void in_pieces(void) {
    char answer[8];
    struct fin_step steps[2];
    fin_finish {
        fin_async_call(receives, steps);
        sends("0123", FIRST);
        fin_sleep(2 * FIN_MS);
        CHECK_EQ(recv(fd[1], answer, sizeof answer, MSG_DONTWAIT), -1);
        sends("456789", ALL - FIRST);
        CHECK_EQ(fin_recv(fd[1], answer, sizeof answer, 0), 5);
    }
    CHECK_EQ(steps[0].result, ALL);
    CHECK_EQ(steps[1].result, 5);
    CHECK(memcmp(got, "0123456789", ALL) == 0);
}

static void cancelled_after_a_piece(void) {
    struct fin_step steps[2];
    fin_finish {
        fin_async_call(receives, steps);
        sends("0123", FIRST);
        fin_sleep(2 * FIN_MS);
        fin_cancel();
    }
    CHECK_EQ(steps[0].result, FIRST);
    CHECK_EQ(steps[1].result, -ECANCELED);
    CHECK(memcmp(got, "0123", FIRST) == 0);
}

static void ends_after_a_piece(void) {
    struct fin_step steps[2];
    fin_finish {
        fin_async_call(receives, steps);
        sends("abcd", FIRST);
        fin_sleep(2 * FIN_MS);
        CHECK_EQ(shutdown(fd[1], SHUT_WR), 0);
    }
    CHECK_EQ(steps[0].result, FIRST);
    CHECK_EQ(steps[1].result, -ECANCELED);
    CHECK(memcmp(got, "abcd", FIRST) == 0);
}

int main(void) {
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    in_pieces();
    cancelled_after_a_piece();
    ends_after_a_piece();
    return 0;
}

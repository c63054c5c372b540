// SPDX-License-Identifier: BSD-2-Clause
// Many requests that are cancelled together: what that costs grows as their number does, not as its square.
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"
#include "growth.h"

static struct fin_on *on;
static int pair[2], cancelled;

static void ended(void *state, int result) {
    (void)state;
    cancelled += result == -ECANCELED;
    fin_cont_end();
}

static void polls(void *state, int unused) {
    int i = *(int *)state;
    (void)unused;
    fin_poll_on(&on[i], pair[0], POLLIN, ended, NULL, 0);
    CHECK(false);
}

static void receives(void *state, int unused) {
    static char c;
    int i = *(int *)state;
    (void)unused;
    fin_recv_on(&on[i], pair[0], &c, 1, 0, ended, NULL, 0);
    CHECK(false);
}

static fin_cont *waits;

static double seconds_of(int many) {
    double begin = 0;
    cancelled = 0;
    fin_finish {
        for (int i = 0; i < many; i++)
            CHECK(fin_async_cont(waits, &i, sizeof i));
        CHECK_EQ(fin_sleep(FIN_MS), 0); // all of them wait
        begin = cpu_seconds();
        fin_cancel();
    }
    CHECK_EQ(cancelled, many);
    return cpu_seconds() - begin;
}

int main(void) {
    const int many = 60000;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    CHECK((on = malloc((size_t)many * sizeof *on)) != NULL);
    waits = polls;
    CHECK(costs_less_than(12, seconds_of, many / 4, many));
    waits = receives;
    CHECK(costs_less_than(12, seconds_of, many / 4, many));
    free(on);
    close(pair[0]);
    close(pair[1]);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Many requests that are cancelled together: what that costs grows as their number does, not as its square.
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

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

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds_of(fin_cont *waits, int many) {
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

static void grows_as_their_number(const char *name, fin_cont *waits, int many) {
    seconds_of(waits, many / 4);
    double quarter = seconds_of(waits, many / 4), all = seconds_of(waits, many);
    if (getenv("FIN_SHOW"))
        printf("%s: %d: %.4f s, %d: %.4f s\n", name, many / 4, quarter, many, all);
    CHECK(all < 12 * quarter);
}

int main(void) {
    const int many = 60000;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    CHECK((on = malloc((size_t)many * sizeof *on)) != NULL);
    grows_as_their_number("polls", polls, many);
    grows_as_their_number("receives", receives, many);
    free(on);
    close(pair[0]);
    close(pair[1]);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Many polls that are cancelled together: what that costs grows as their number does, not as its square.
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

static struct fin_on *on;
static int fd, cancelled;

static void polled(void *state, int result) {
    (void)state;
    cancelled += result == -ECANCELED;
    fin_cont_end();
}

static void polls(void *state, int unused) {
    int i = *(int *)state;
    (void)unused;
    fin_poll_on(&on[i], fd, POLLIN, polled, NULL, 0);
    CHECK(false);
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds_of(int many) {
    double begin = 0;
    cancelled = 0;
    fin_finish {
        for (int i = 0; i < many; i++)
            CHECK(fin_async_cont(polls, &i, sizeof i));
        CHECK_EQ(fin_sleep(FIN_MS), 0); // all of them wait
        begin = cpu_seconds();
        fin_cancel();
    }
    CHECK_EQ(cancelled, many);
    return cpu_seconds() - begin;
}

int main(void) {
    const int many = 60000;
    CHECK((fd = eventfd(0, EFD_CLOEXEC)) >= 0);
    CHECK((on = malloc((size_t)many * sizeof *on)) != NULL);
    seconds_of(many / 4);
    double quarter = seconds_of(many / 4), all = seconds_of(many);
    if (getenv("FIN_SHOW"))
        printf("%d: %.4f s, %d: %.4f s\n", many / 4, quarter, many, all);
    CHECK(all < 12 * quarter);
    free(on);
    close(fd);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Many AWEs wait for one descriptor. Of those who read from it one goes on for each byte, so that what a byte costs does not
// depend on how many wait; where there is no ring they take turns. Those who poll it are all told.
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

enum { READERS = 200, POLLERS = 5, BYTES = 300 };

static int in, out;
static long got, polled, of[READERS];

static long waits(void) {
    struct fin_stats s;
    fin_stats(&s);
    return (long)(s.blocks[FIN_FOR_IO].with_stack + s.blocks[FIN_FOR_IO].with_continuation);
}

static FIN_BLOCKING void reads(void *number) {
    char c;
    while (fin_read(in, &c, 1) == 1) {
        got++;
        of[(long)number]++;
    }
}

static FIN_BLOCKING void polls(void *unused) {
    (void)unused;
    CHECK_EQ(fin_poll(in, POLLIN), POLLIN);
    polled++;
}

static void send_one(void) { CHECK_EQ(write(out, "x", 1), 1); }

int main(void) {
    int fds[2];
    CHECK_EQ(pipe(fds), 0);
    in = fds[0];
    out = fds[1];
    fin_finish_as(all) {
        for (long i = 0; i < READERS; i++)
            fin_async_eager_call(reads, (void *)i);
        for (int i = 0; i < POLLERS; i++)
            fin_async_eager_call(polls, NULL);
        fin_sleep(FIN_MS);
        send_one();
        while (got < 1 || polled < POLLERS)
            fin_yield();
        long before = waits();
        for (long i = 1; i < BYTES; i++) {
            send_one();
            while (got <= i)
                fin_yield();
        }
        CHECK(waits() - before <= 2 * BYTES);
        fin_cancel_as(all);
    }
    CHECK_EQ(got, BYTES);
    bool turns = strncmp(fin_io_backend(), "epoll", 5) == 0; // but for who reads again before he would wait
    for (int i = 0; turns && i < READERS; i++)
        CHECK(of[i] <= 3);
    return 0;
}

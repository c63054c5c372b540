// SPDX-License-Identifier: BSD-2-Clause
// What is ready for writing and would block all the same: an eventfd whose sum has no room for this much, a terminal that
// takes a part. The thread goes on with other work, and the write is cancelled, or done when there is room.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <fin.h>

#include "terminal.h"

static const uint64_t half = (uint64_t)1 << 63;
static int sum;
static ssize_t result;

static void write_half(void *unused) {
    (void)unused;
    result = fin_write(sum, &half, sizeof half);
}

static void written(void *state, int r) {
    (void)state;
    result = r;
    fin_cont_end();
}

static void write_half_on(void *state, int r) {
    static struct fin_on on;
    (void)state;
    CHECK_EQ(r, 0);
    written(NULL, fin_write_on(&on, sum, &half, sizeof half, written, NULL, 0));
}

static bool with_stack;
#define WRITE_IT                                                                                                            \
    result = 0;                                                                                                             \
    if (with_stack)                                                                                                         \
        fin_async_call(write_half, NULL);                                                                                   \
    else                                                                                                                    \
        CHECK(fin_async_cont(write_half_on, NULL, 0) != NULL)

static void full_sum(void) {
    uint64_t value;
    sum = eventfd(0, 0);
    CHECK_EQ(fin_write(sum, &half, sizeof half), sizeof half);
    fin_finish {
        WRITE_IT;
        CHECK_EQ(fin_sleep(3 * FIN_MS), 0);
        CHECK_EQ(result, 0);
        fin_cancel();
    }
    CHECK_EQ(result, -ECANCELED);
    fin_finish {
        WRITE_IT;
        CHECK_EQ(fin_sleep(3 * FIN_MS), 0);
        CHECK_EQ(result, 0);
        CHECK_EQ(read(sum, &value, sizeof value), sizeof value);
        CHECK(value == half);
    }
    CHECK_EQ(result, sizeof half);
    CHECK_EQ(read(sum, &value, sizeof value), sizeof value);
    CHECK(value == half);
    CHECK_EQ(fcntl(sum, F_GETFL) & O_NONBLOCK, 0);
    close(sum);
}

static void full_terminal(void) {
    static const char data[1 << 17];
    static char back[sizeof data];
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0)
        return; // a machine without terminals
    // A ring's write to a terminal blocks the thread where the terminal may: that is the kernel's (fin/file.h).
    bool ring = strncmp(fin_io_backend(), "epoll", 5) != 0;
    int fd = raw_terminal(master, ring ? O_NONBLOCK : 0);
    fin_shared size_t done = 0;
    fin_shared int ended = 1;
    fin_finish {
        fin_async {
            ended = fin_write_all(fd, data, sizeof data, &done);
        };
        CHECK_EQ(fin_sleep(3 * FIN_MS), 0);
        fin_cancel();
    }
    CHECK_EQ(ended, -ECANCELED);
    CHECK(done > 0 && done < sizeof data);
    fin_finish {
        fin_async {
            ended = fin_write_all(fd, data + done, sizeof data - done, NULL);
        };
        CHECK_EQ(fin_read_all(master, back, sizeof back, NULL), 0);
    }
    CHECK_EQ(ended, 0);
    close(fd);
    close(master);
}

int main(void) {
    full_sum();
    with_stack = true;
    full_sum();
    full_terminal();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// More requests than the submission queue holds, and more completions at once than the completion queue does: none is lost.
#include "net.h"

enum { MOST = 12000 };

static int pipes[2], done, cancelled;
static long sum;

static void read_one(void *unused) {
    (void)unused;
    unsigned char c;
    ssize_t n = fin_read(pipes[0], &c, 1);
    if (n == 1) {
        done++;
        sum += c;
    } else {
        CHECK_EQ(n, -ECANCELED);
        cancelled++;
    }
}

static void write_some(int n, long *expected) {
    static unsigned char data[MOST];
    for (int i = 0; i < n; i++)
        *expected += data[i] = (unsigned char)i;
    CHECK_EQ(write(pipes[1], data, (size_t)n), n);
}

int main(void) {
    const int readers = getenv("FIN_FEW") ? 600 : MOST;
    long expected = 0;
    CHECK_EQ(pipe(pipes), 0);
    fin_finish {
        for (int i = 0; i < readers; i++)
            fin_async_call(read_one, NULL);
        CHECK_EQ(fin_sleep(1), 0); // now all have gone down
        CHECK_EQ(done, 0);
        write_some(readers / 2, &expected);
        while (done < readers / 2)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        write_some(readers / 2, &expected);
    }
    CHECK_EQ(done, readers);
    CHECK_EQ(sum, expected);
    fin_finish {
        for (int i = 0; i < readers; i++)
            fin_async_call(read_one, NULL);
        CHECK_EQ(fin_sleep(1), 0);
        write_some(readers / 3, &expected);
        fin_cancel();
    }
    // What was cancelled left its byte in the pipe.
    CHECK_EQ(done + cancelled, 2 * readers);
    char rest[MOST];
    int left = readers / 3 - (done - readers);
    CHECK(left >= 0);
    CHECK(left == 0 || read(pipes[0], rest, sizeof rest) == left);
    return 0;
}

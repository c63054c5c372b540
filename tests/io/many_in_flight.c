// SPDX-License-Identifier: BSD-2-Clause
// 100,000 requests in flight at once, and as many completions as fast as they come: none is lost, also where the queues hold
// 8 and 16; and many go down in one system call.
#include <fin/stats.h>

#include "net.h"

enum { PIPES = 100, MOST = 100000, QUEUE = 256 };

static int pipes[PIPES][2], done, cancelled, begun;
static long sum;

static void read_one(void *pair) {
    unsigned char c;
    ssize_t n = fin_read(*(int *)pair, &c, 1);
    if (n == 1) {
        done++;
        sum += c;
    } else {
        CHECK_EQ(n, -ECANCELED);
        cancelled++;
    }
}

// Each reader of a pipe is to get a byte.
static long write_all(int each) {
    static unsigned char data[MOST / PIPES];
    long expected = 0;
    for (int i = 0; i < PIPES; i++) {
        for (int k = 0; k < each; k++)
            expected += data[k] = (unsigned char)(i + k);
        CHECK_EQ(write(pipes[i][1], data, (size_t)each), each);
    }
    return expected;
}

static bool is_small(void) {
    const char *kind = getenv("FIN_IO");
    return kind && strcmp(kind, "small") == 0;
}

static void enough_memory(int readers) {
    char line[128];
    long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %ld", &kib) == 1)
            break;
    if (f)
        fclose(f);
    if (kib / 8 < readers)
        SKIP("too little memory for so many stacks");
}

int main(void) {
    const int each = getenv("FIN_FEW") ? 20 : MOST / PIPES, readers = each * PIPES;
    struct fin_stats before, after;
    if (on_epoll())
        SKIP("no io_uring here");
    enough_memory(readers);
    for (int i = 0; i < PIPES; i++)
        CHECK_EQ(pipe(pipes[i]), 0);
    for (int round = 0; round < 2; round++) {
        long expected = 0;
        done = cancelled = 0;
        sum = 0;
        fin_finish {
            fin_stats(&before);
            for (begun = 0; begun < readers; begun++)
                fin_async_call(read_one, pipes[begun % PIPES]);
            CHECK_EQ(fin_sleep(1), 0); // now all have gone down
            fin_stats(&after);
            CHECK_EQ(after.requests - before.requests, readers);
            if (!is_small())
                CHECK(after.entered - before.entered < 2 * (unsigned)readers / QUEUE + 8);
            CHECK_EQ(done, 0);
            if (round == 0)
                expected = write_all(each);
            else
                fin_cancel();
        }
        CHECK_EQ(done, round ? 0 : readers);
        CHECK_EQ(cancelled, round ? readers : 0);
        CHECK_EQ(sum, expected);
    }
    return 0;
}

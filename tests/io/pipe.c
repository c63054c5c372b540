// SPDX-License-Identifier: BSD-2-Clause
// Pipes and socket pairs: a reader waits for a writer, a writer for a reader; end of file; nobody that reads.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "net.h"

enum { TOTAL = 1 << 20 };

static int in, out;
static char data[TOTAL], back[TOTAL];

static void write_all(void *unused) {
    (void)unused;
    for (ssize_t done = 0, n; done < TOTAL; done += n) {
        n = fin_write(out, data + done, (size_t)(TOTAL - done));
        CHECK(n > 0);
    }
    CHECK_EQ(fin_close(out), 0);
}

static void read_all(void *unused) {
    (void)unused;
    ssize_t done = 0, n;
    while ((n = fin_read(in, back + done, 50000)) > 0)
        done += n;
    CHECK_EQ(n, 0);
    CHECK_EQ(done, TOTAL);
    CHECK(memcmp(data, back, TOTAL) == 0);
    CHECK_EQ(fin_close(in), 0);
}

static void transfer(void) {
    memset(back, 0, sizeof back);
    fin_finish {
        fin_async_call(read_all, NULL);
        fin_async_call(write_all, NULL);
    }
}

// The AWE that reads waits; the one that writes runs on: a call that could go on at once lets others run or not, but the data
// come in the order of the calls.
static void one_byte_at_a_time(void) {
    static int fd[2];
    CHECK_EQ(pipe(fd), 0);
    fin_shared int sum = 0;
    fin_finish {
        fin_async {
            unsigned char c;
            for (int i = 0; i < 200; i++) {
                CHECK_EQ(fin_read(fd[0], &c, 1), 1);
                CHECK_EQ(c, i);
                sum += c;
            }
        };
        for (int i = 0; i < 200; i++) {
            unsigned char c = (unsigned char)i;
            CHECK_EQ(fin_write(fd[1], &c, 1), 1);
        }
    }
    CHECK_EQ(sum, 199 * 100);
    close(fd[0]);
    close(fd[1]);
}

static void nobody_reads(void) {
    int fd[2];
    CHECK_EQ(pipe(fd), 0);
    close(fd[0]);
    CHECK_EQ(fin_write(fd[1], "x", 1), -EPIPE);
    close(fd[1]);
    stream_pair(fd);
    close(fd[0]);
    CHECK_EQ(fin_write(fd[1], "x", 1), -EPIPE);
    char c;
    CHECK_EQ(fin_read(fd[1], &c, 1), 0);
    close(fd[1]);
}

// It does not wait for its other end to be opened, however it is done.
static void fifo(void) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/fin-fifo-%d", (int)getpid());
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK_EQ(fin_openat(AT_FDCWD, path, O_WRONLY, 0), -ENXIO);
    in = fin_openat(AT_FDCWD, path, O_RDONLY, 0);
    CHECK(in >= 0);
    out = fin_openat(AT_FDCWD, path, O_WRONLY, 0);
    CHECK(out >= 0);
    CHECK_EQ(fcntl(out, F_GETFL) & O_NONBLOCK, 0);
    transfer();
    unlink(path);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < TOTAL; i++)
        data[i] = (char)(i ^ i >> 8);
    int fd[2];
    CHECK_EQ(pipe(fd), 0);
    in = fd[0], out = fd[1];
    transfer();
    stream_pair(fd);
    in = fd[0], out = fd[1];
    transfer();
    one_byte_at_a_time();
    nobody_reads();
    fifo();
    return 0;
}

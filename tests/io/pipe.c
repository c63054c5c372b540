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

// The AWE that reads waits; the one that writes runs on: a call that could go on at once lets others run or not, but the
// data come in the order of the calls.
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

// One socket: some wait to receive from it, one to send to it; each goes on when it can.
static void both_ways(void) {
    static int fd[2];
    static char a, b, big[1 << 16];
    fin_shared int received = 0, ended = 0;
    ssize_t n, full = 0;
    stream_pair(fd);
    while ((n = send(fd[0], big, sizeof big, MSG_DONTWAIT)) > 0)
        full += n;
    fin_finish {
        fin_async { received += (int)fin_recv(fd[0], &a, 1, 0); };
        fin_async { received += (int)fin_recv(fd[0], &b, 1, 0); };
        fin_async {
            CHECK_EQ(fin_send(fd[0], "end", 3, 0), 3);
            ended = 1;
        };
        CHECK_EQ(fin_sleep(1), 0);
        for (; full > 0; full -= n) {
            n = fin_recv(fd[1], big, (size_t)full < sizeof big ? (size_t)full : sizeof big, 0);
            CHECK(n > 0);
        }
        CHECK_EQ(fin_recv(fd[1], big, sizeof big, 0), 3);
        while (!ended)
            CHECK_EQ(fin_sleep(1), 0);
        CHECK_EQ(received, 0);
        CHECK_EQ(write(fd[1], "1", 1), 1);
        while (received == 0)
            CHECK_EQ(fin_sleep(1), 0);
        CHECK_EQ(fin_sleep(1), 0);
        CHECK_EQ(received, 1);
        CHECK_EQ(write(fd[1], "2", 1), 1);
    }
    CHECK_EQ(received, 2);
    close(fd[0]);
    close(fd[1]);
}

// Closing a descriptor that somebody waits for leaves nobody waiting for ever: it gets what comes still, or EBADF.
static void closed_meanwhile(void) {
    static int fd[2];
    static char c;
    fin_shared int n = 0;
    stream_pair(fd);
    fin_finish {
        fin_async { n = (int)fin_recv(fd[0], &c, 1, 0); };
        CHECK_EQ(fin_sleep(1), 0);
        CHECK_EQ(fin_close(fd[0]), 0);
        send(fd[1], "x", 1, MSG_NOSIGNAL);
    }
    CHECK(n == 1 || n == -EBADF);
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
    both_ways();
    closed_meanwhile();
    nobody_reads();
    fifo();
    return 0;
}

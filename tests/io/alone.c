// SPDX-License-Identifier: BSD-2-Clause
// A send, and a read of what the page cache has, that would go down alone: made without the ring, with the ring's results.
// What is not in the page cache, or past it, or no file, is the ring's.
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include <fin/stats.h>

#include "net.h"

enum { PAGE = 4096, SIZE = 8 * PAGE + 100, MANY = 300 };

static char data[SIZE], got[SIZE + PAGE] __attribute__((aligned(PAGE)));

static int make_file(void) {
    char path[] = "/tmp/fin-alone-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    unlink(path);
    for (unsigned i = 0; i < SIZE; i++)
        data[i] = (char)(i * 7 + i / PAGE);
    CHECK_EQ(write(fd, data, SIZE), SIZE);
    CHECK_EQ(fsync(fd), 0);
    return fd;
}

// How often reads went down into the ring.
static uint64_t entered(void) {
    struct fin_stats s;
    fin_stats(&s);
    return s.entered;
}

static void read_at(int fd, size_t size, off_t at, int expected) {
    memset(got, 0x55, sizeof got);
    CHECK_EQ(fin_pread(fd, got, size, at), expected);
    CHECK(expected <= 0 || memcmp(got, data + at, (size_t)expected) == 0);
    CHECK(got[expected > 0 ? expected : 0] == 0x55);
}

static void all_of_it(int fd) {
    for (int i = 0; i < MANY; i++) {
        read_at(fd, PAGE, i % 8 * PAGE, PAGE);
        read_at(fd, 2 * PAGE, 7 * PAGE + 50, PAGE + 50); // the end of the file
        read_at(fd, sizeof got - 1, 0, SIZE);
        read_at(fd, 1, SIZE, 0);
        read_at(fd, 0, 0, 0);
    }
}

static void from_the_page_cache(int fd) {
    all_of_it(fd);
    uint64_t before = entered();
    all_of_it(fd);
    CHECK(on_epoll() || entered() - before < MANY / 10); // 1,200 otherwise
}

// Some of the pages are not there: a part is not taken for all. What has gone is read again, whoever reads it.
static void partly_cached(int fd) {
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(posix_fadvise(fd, i % 8 * PAGE, (8 - i % 8) * PAGE, POSIX_FADV_DONTNEED), 0);
        read_at(fd, sizeof got - 1, 0, SIZE);
    }
}

// The same number, and now past the page cache: with fin_close at once.
static void direct(int fd) {
    char path[48];
    uint64_t before;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int other = open(path, O_RDONLY), again;
    all_of_it(other);
    CHECK_EQ(fin_close(other), 0);
    again = open(path, O_RDONLY | O_DIRECT);
    if (again < 0)
        return; // not this file system
    CHECK_EQ(again, other);
    before = entered();
    for (int i = 0; i < MANY; i++) {
        int n = (int)fin_pread(again, got, PAGE, i % 8 * PAGE);
        CHECK_EQ(n, PAGE);
        CHECK(memcmp(got, data + i % 8 * PAGE, PAGE) == 0);
    }
    CHECK(on_epoll() || entered() - before >= MANY);
    close(again);
}

static void no_file(void) {
    int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_RDONLY), s[2], p[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
    CHECK_EQ(pipe(p), 0);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(fin_pread(zero, got, PAGE, i), PAGE);
        CHECK(got[0] == 0 && got[PAGE - 1] == 0);
        CHECK_EQ(fin_pread(null, got, PAGE, i), 0);
        CHECK_EQ(fin_pread(-1, got, PAGE, 0), -EBADF);
        CHECK_EQ(fin_pread(zero, got, PAGE, -5), -EINVAL);
        if (!on_epoll()) { // reads these at any position (ARCHITECTURE.md)
            CHECK_EQ(write(s[1], "ab", 2), 2);
            CHECK_EQ(fin_pread(s[0], got, PAGE, 0), 2);
            CHECK_EQ(write(p[1], "cde", 3), 3);
            CHECK_EQ(fin_pread(p[0], got, PAGE, 0), 3);
        }
    }
    CHECK_EQ(fin_pread(open("/", O_RDONLY), got, PAGE, 0), -EISDIR);
    for (int i = 0; i < 2; i++)
        close(s[i]), close(p[i]);
    close(zero);
    close(null);
}

// ---- sends

static void drain(void *arg) {
    const int *s = arg;
    size_t sum = 0;
    CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
    for (ssize_t n; (n = fin_recv(s[1], got, sizeof got, 0)) > 0; sum += (size_t)n)
        for (ssize_t i = 0; i < n; i++)
            CHECK_EQ(got[i], data[(sum + (size_t)i) % SIZE]);
    CHECK_EQ(sum, MANY * SIZE);
}

// More than the socket takes: it waits for room, and nothing is lost or sent twice.
static void sends(void) {
    static int s[2];
    stream_pair(s);
    fin_finish {
        fin_async_call(drain, s);
        for (int i = 0; i < MANY; i++)
            CHECK_EQ(fin_send_all(s[0], data, SIZE, 0, NULL), 0);
        CHECK_EQ(shutdown(s[0], SHUT_WR), 0);
    }
    CHECK_EQ(fin_send(s[0], data, 1, 0), -EPIPE); // and no signal
    close(s[1]);
    close(s[0]);
    CHECK_EQ(fin_send(s[0], data, 1, 0), -EBADF);
}

static void sends_without_the_ring(void) {
    int s[2];
    stream_pair(s);
    uint64_t before = entered();
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(fin_send(s[0], data, 100, 0), 100);
        CHECK_EQ(recv(s[1], got, 100, 0), 100);
    }
    CHECK(on_epoll() || entered() - before < MANY / 10);
    close(s[0]);
    close(s[1]);
}

// A cancel comes before it: nothing is sent.
static void cancelled(void) {
    static int s[2];
    stream_pair(s);
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_send(s[0], data, 1, 0), -ECANCELED);
        CHECK_EQ(fin_send_nc(s[0], data, 2, 0), 2);
    }
    CHECK_EQ(recv(s[1], got, 10, 0), 2);
    close(s[0]);
    close(s[1]);
}

int main(void) {
    int fd = make_file();
    fin_finish {
        from_the_page_cache(fd);
        partly_cached(fd);
        direct(fd);
        no_file();
        sends();
        sends_without_the_ring();
        cancelled();
    }
    close(fd);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A read of what the page cache has is made without the ring, with the ring's results. What is not there, or past it, or no
// file, is the ring's.
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include <fin/fixed.h>
#include <fin/stats.h>

#include "kernels.h"
#include "net.h"

enum { PAGE = 4096, SIZE = 8 * PAGE + 100, MANY = 300 };

static char data[SIZE], got[SIZE + PAGE] __attribute__((aligned(PAGE)));
static bool other; // there is no ring, or the file system cannot say what it has, as tmpfs before Linux 6.6

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
    CHECK(other || entered() - before < MANY / 10); // 1,200 otherwise
}

// Files and memory that the ring knows are no reason to go there.
static void registered(int fd) {
    int number = fin_file_register(fd);
    struct fin_memory *m;
    uint64_t before = entered();
    CHECK(number > 0);
    CHECK_EQ(fin_memory_register(&m, got, sizeof got), 0);
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < 2; k++) {
            memset(got, 0x55, sizeof got);
            CHECK_EQ(fin_pread_fixed(k ? number : fd, m, got, 2 * PAGE, 7 * PAGE + 50), PAGE + 50);
            CHECK(memcmp(got, data + 7 * PAGE + 50, PAGE + 50) == 0 && got[PAGE + 50] == 0x55);
        }
        read_at(number, 2 * PAGE, 7 * PAGE + 50, PAGE + 50);
    }
    CHECK(other || entered() - before < MANY / 10); // 900 otherwise
    before = entered();
    for (int i = 0; i < MANY; i++) // to memory that it knows the ring copies more than that quicker
        CHECK_EQ(fin_pread_fixed(fd, m, got, 8 * PAGE, 0), 8 * PAGE);
    CHECK(on_epoll() || entered() - before >= MANY);
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_pread_fixed(number, m, got, PAGE, 0), -ECANCELED);
        CHECK_EQ(fin_pread_fixed_nc(number, m, got, PAGE, 0), PAGE);
    }
    CHECK_EQ(fin_file_unregister(number), 0);
    CHECK_EQ(fin_pread_fixed(number, m, got, PAGE, 0), -EBADF);
    CHECK_EQ(fin_pread(number, got, PAGE, 0), -EBADF);
    CHECK_EQ(fin_memory_unregister(m), 0);
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

// A cancel comes before it.
static void cancelled(int fd) {
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_pread(fd, got, PAGE, 0), -ECANCELED);
        CHECK_EQ(fin_pread_nc(fd, got, PAGE, 0), PAGE);
    }
}

// ---- with a continuation

struct reader {
    int fd, i;
};

static struct fin_on on;

static void next_page(void *state, int n) {
    struct reader *r = state;
    if (r->i > 0) {
        CHECK_EQ(n, PAGE);
        CHECK(memcmp(got, data + (r->i - 1) % 8 * PAGE, PAGE) == 0);
    }
    if (r->i == MANY)
        fin_cont_end();
    struct reader then = {r->fd, r->i + 1};
    fin_pread_on(&on, then.fd, got, PAGE, r->i % 8 * PAGE, next_page, &then, sizeof then);
}

static void without_a_stack(int fd) {
    struct reader r = {fd, 0};
    uint64_t before = entered();
    fin_finish {
        CHECK(fin_async_cont(next_page, &r, sizeof r) != NULL);
    }
    CHECK(other || ON_ASAN || ON_TSAN || entered() - before < MANY / 10); // those wait as the first time
}

int main(void) {
    int fd = make_file();
    other = on_epoll() || !tells_waits(fd, 0);
    fin_finish {
        from_the_page_cache(fd);
        registered(fd);
        partly_cached(fd);
        direct(fd);
        no_file();
        cancelled(fd);
        without_a_stack(fd);
    }
    close(fd);
    return 0;
}

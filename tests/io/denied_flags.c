// SPDX-License-Identifier: BSD-2-Clause
// A filter that is older than preadv2(2) and pwritev2(2) denies them: files, pipes, sockets and devices are read and written
// all the same, and who waits there still lets others run. And one that denies getsockopt(2): no message is lost by asking
// a socket in another way.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include <fin/stream.h>

#include "deny.h"
#include "kernels.h"
#include "net.h"

enum { SIZE = 20000 };

static char text[SIZE], got[SIZE];
static bool tells; // pipes, that they would wait: others have a ring wait for something in place of nothing (fin/file.h)

static void check_got(size_t n) {
    CHECK(memcmp(got, text, n) == 0);
    memset(got, 0, sizeof got);
}

static struct iovec *halves(char *p, size_t size) {
    static struct iovec v[2];
    v[0] = (struct iovec){p, size / 2};
    v[1] = (struct iovec){p + size / 2, size - size / 2};
    return v;
}

static void file(void) {
    int fd = nameless_file();
    CHECK_EQ(fin_write(fd, text, SIZE), SIZE);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    CHECK_EQ(fin_read(fd, got, SIZE), SIZE);
    check_got(SIZE);
    CHECK_EQ(fin_pwritev(fd, halves(text, 100), 2, 0), 100);
    CHECK_EQ(fin_preadv(fd, halves(got, SIZE), 2, 0), SIZE);
    check_got(SIZE);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    CHECK_EQ(fin_writev(fd, halves(text, 200), 2), 200);
    CHECK_EQ(fin_readv(fd, halves(got, SIZE), 2), SIZE - 200);
    CHECK(memcmp(got, text + 200, SIZE - 200) == 0);
    CHECK_EQ(fin_pwrite(fd, text, 10, 5), 10);
    CHECK_EQ(fin_pread(fd, got, 10, 5), 10);
    check_got(10);
    close(fd);
}

static void read_nothing(int fd) {
    if (on_epoll() || tells)
        CHECK_EQ(fin_readv(fd, halves(got, 0), 2), 0);
}

// The other end reads what is more than it takes at once.
static void stream(int in, int out) {
    static size_t done;
    fin_finish {
        fin_async { CHECK_EQ(fin_read_all(in, got, SIZE, &done), 0); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        for (size_t sent = 0; sent < SIZE;) {
            ssize_t n = sent == 0 ? fin_writev(out, halves(text, 100), 2) : fin_write(out, text + sent, SIZE - sent);
            CHECK(n > 0);
            sent += (size_t)n;
        }
    }
    check_got(SIZE);
    fin_finish {
        fin_async { CHECK_EQ(fin_readv(in, halves(got, 10), 2), 10); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_write(out, text, 10), 10);
    }
    check_got(10);
    read_nothing(in);
    close(out);
    CHECK_EQ(fin_read(in, got, 1), 0);
    close(in);
}

static void nothing(int in, int out) {
    read_nothing(in);
    close(in);
    CHECK_EQ(fin_writev(out, NULL, 0), 0); // no SIGPIPE
    close(out);
}

static void packets(void) {
    int fd[2];
    CHECK_EQ(pipe2(fd, O_DIRECT), 0);
    CHECK_EQ(fin_write(fd[1], text, 2), 2);
    CHECK_EQ(fin_write(fd[1], text + 2, 3), 3);
    CHECK_EQ(fin_read(fd[0], got, SIZE), 2);
    CHECK_EQ(fin_read(fd[0], got + 2, SIZE - 2), 3);
    check_got(5);
    close(fd[0]);
    close(fd[1]);
}

static void devices(void) {
    uint64_t value = 3;
    int sum = eventfd(0, 0), null = open("/dev/null", O_RDWR);
    fin_finish {
        fin_async { CHECK_EQ(fin_read(sum, got, 8), 8); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_write(sum, &value, 8), 8);
    }
    CHECK(memcmp(got, &value, 8) == 0);
    CHECK_EQ(fin_write(null, text, 10), 10);
    CHECK_EQ(fin_read(null, got, 10), 0);
    close(sum);
    close(null);
}

static void all_work(void) {
    int fd[2];
    file();
    CHECK_EQ(pipe(fd), 0);
    stream(fd[0], fd[1]);
    stream_pair(fd);
    stream(fd[0], fd[1]);
    CHECK_EQ(pipe(fd), 0);
    nothing(fd[0], fd[1]);
    stream_pair(fd);
    nothing(fd[0], fd[1]);
    packets();
    devices();
}

static void messages(void) {
    struct fin_buffers *b;
    void *piece;
    int fd[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fd), 0);
    CHECK_EQ(fin_buffers_open(&b, 4, 64), 0);
    for (char c = 'a'; c <= 'c'; c++)
        CHECK_EQ(send(fd[1], &c, 1, 0), 1);
    for (char c = 'a'; c <= 'c'; c++) {
        CHECK_EQ(fin_buffers_recv(b, fd[0], &piece, 0), 1);
        CHECK_EQ(*(char *)piece, c);
        CHECK_EQ(fin_buffers_put(b, piece), 0);
    }
    CHECK_EQ(fin_buffers_close(b), 0);
}

static void messages_without_options(void) {
    pid_t child = fork();
    if (child == 0) {
        alarm(50);
        deny(SYS_getsockopt, EPERM);
        messages();
        _exit(0);
    }
    denied_ended(child);
}

static void works_without(unsigned error) {
    pid_t child = fork();
    if (child == 0) {
        alarm(50);
        deny(SYS_preadv2, error);
        deny(SYS_pwritev2, error);
        all_work();
        _exit(0);
    }
    denied_ended(child);
}

int main(void) {
    for (int i = 0; i < SIZE; i++)
        text[i] = (char)(i * 7);
    tells = pipes_tell_waits();
    works_without(EPERM);
    works_without(EACCES);
    works_without(ENOSYS);
    messages_without_options();
    return 0;
}

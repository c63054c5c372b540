// SPDX-License-Identifier: BSD-2-Clause
// co::readv, writev, fsync, fdatasync, statx and offload, and transfers until all is done: results, and what they say of a
// part that was done before the end, or before a cancel.
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <fin/coro.hpp>

#include "check.h"

namespace co = fin::co;

static int ended;

static fin::task<> a_file() {
    char name[] = "fin-coroutine-XXXXXX", a[3], b[6] = "", first[] = "abc", second[] = "defgh";
    const iovec to[] = {{first, 3}, {second, 5}}, from[] = {{a, 3}, {b, 5}};
    struct statx about = {};
    size_t done;
    int fd = mkstemp(name);
    CHECK(fd >= 0 && unlink(name) == 0);
    CHECK_EQ(co_await co::writev(fd, to, 2), 8);
    CHECK_EQ(co_await co::fsync(fd), 0);
    CHECK_EQ(co_await co::fdatasync(fd), 0);
    CHECK_EQ(co_await co::statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &about), 0);
    CHECK_EQ(about.stx_size, 8);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    CHECK_EQ(co_await co::readv(fd, from, 2), 8);
    CHECK(memcmp(a, "abc", 3) == 0 && strcmp(b, "defgh") == 0);
    CHECK_EQ(co_await co::readv(fd, from, -1), -EINVAL);
    CHECK_EQ(co_await co::write_all(fd, "ijkl", 4), 0);
    CHECK_EQ(lseek(fd, 7, SEEK_SET), 7);
    CHECK_EQ(co_await co::read_all(fd, b, 6, &done), -ENODATA);
    CHECK_EQ(done, 5);
    CHECK_EQ(memcmp(b, "hijkl", 5), 0);
    close(fd);
    CHECK_EQ(co_await co::fsync(fd), -EBADF);
    ended++;
}

static void on_a_thread(void *p) { *static_cast<pid_t *>(p) = gettid(); }

static fin::task<> elsewhere() {
    pid_t tid = 0;
    CHECK_EQ(co_await co::offload(on_a_thread, &tid), 0);
    CHECK(tid != 0 && tid != gettid());
    ended++;
}

static fin::task<> receives(int fd, char *text, size_t size, int *result, size_t *done) {
    *result = co_await co::recv_all(fd, text, size, 0, done);
    ended++;
}

static fin::task<> sends(int fd) {
    CHECK_EQ(co_await co::send_all(fd, "hel", 3), 0);
    CHECK_EQ(co_await co::send_all(fd, "lo", 2), 0);
    ended++;
}

static void a_stream() {
    int fd[2], result = 0;
    char text[8] = "";
    size_t done = 0;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    fin_finish {
        fin_async_task(receives(fd[0], text, 5, &result, &done));
        fin_async_task(sends(fd[1]));
    }
    CHECK(result == 0 && done == 5 && strcmp(text, "hello") == 0);
    fin_finish {
        fin_async_task(receives(fd[0], text, 6, &result, &done));
        CHECK_EQ(fin_send(fd[1], "J", 1, 0), 1);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    CHECK(result == -ECANCELED && done == 1 && strcmp(text, "Jello") == 0);
    close(fd[0]);
    close(fd[1]);
}

int main() {
    fin_finish {
        fin_async_task(a_file());
        fin_async_task(elsewhere());
    }
    a_stream();
    CHECK_EQ(ended, 5);
}

// SPDX-License-Identifier: BSD-2-Clause
// co::write, co::pread and co::pwrite, of files and of a pipe: counts, errors, offsets that leave the file's position alone,
// and the cancel of a write that has no room.
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <fin/coro.hpp>

#include "check.h"

namespace co = fin::co;

static int ended;

static fin::task<> a_file() {
    char name[] = "fin-coroutine-XXXXXX", bytes[16] = "";
    int fd = mkstemp(name);
    CHECK(fd >= 0 && unlink(name) == 0);
    CHECK_EQ(co_await co::write(fd, "abc", 3), 3);
    CHECK_EQ(co_await co::pwrite(fd, "XYZ", 3, 5), 3);
    CHECK_EQ(co_await co::write(fd, "de", 2), 2); // behind the first
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 5);
    CHECK_EQ(co_await co::pread(fd, bytes, sizeof bytes, 1), 7);
    CHECK_EQ(strcmp(bytes, "bcdeXYZ"), 0);
    CHECK_EQ(co_await co::pread(fd, bytes, sizeof bytes, 8), 0); // its end
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 5);
    CHECK_EQ(co_await co::read(fd, bytes, 2), 2);
    CHECK_EQ(memcmp(bytes, "XY", 2), 0);
    CHECK_EQ(co_await co::pread(fd, bytes, 1, -1), -EINVAL);
    CHECK_EQ(co_await co::pwrite(fd, bytes, 1, -1), -EINVAL);
    close(fd);
    CHECK_EQ(co_await co::write(fd, "x", 1), -EBADF);
    CHECK_EQ(co_await co::pread(fd, bytes, 1, 0), -EBADF);
    CHECK_EQ(co_await co::pwrite(fd, "x", 1, 0), -EBADF);
    ended++;
}

static fin::task<> only_one_way() {
    int fd = co_await co::openat(AT_FDCWD, "/dev/null", O_RDONLY);
    CHECK_EQ(co_await co::write(fd, "x", 1), -EBADF);
    CHECK_EQ(co_await co::pwrite(fd, "x", 1, 0), -EBADF);
    close(fd);
    ended++;
}

static fin::task<> fills(int fd, int *written, int *result) {
    static char page[4096];
    while ((*result = co_await co::write(fd, page, sizeof page)) > 0)
        *written += *result;
    ended++;
}

static fin::task<> drains(int fd, int *all) {
    char bytes[1000];
    for (int n; (n = co_await co::read(fd, bytes, sizeof bytes)) > 0;)
        *all += n;
    ended++;
}

static void a_pipe() {
    int fd[2], written = 0, result = 0, all = 0;
    CHECK_EQ(pipe(fd), 0);
    fin_finish {
        fin_async_task(fills(fd[1], &written, &result));
        while (written == 0)
            CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
        fin_cancel(); // it waits for room
    }
    CHECK_EQ(result, -ECANCELED);
    CHECK(written > 0);
    fin_finish {
        fin_async_task(drains(fd[0], &all));
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        close(fd[1]);
    }
    CHECK_EQ(all, written); // nothing of the one that was cancelled
    close(fd[0]);
}

static fin::task<> has_no_reader() {
    int fd[2];
    CHECK_EQ(pipe(fd), 0);
    close(fd[0]);
    CHECK_EQ(co_await co::write(fd[1], "x", 1), -EPIPE);
    close(fd[1]);
    ended++;
}

static fin::task<> too_late(int fd) {
    char byte = 0;
    CHECK_EQ(co_await co::write(fd, "x", 1), -ECANCELED);
    CHECK_EQ(co_await co::pwrite(fd, "x", 1, 0), -ECANCELED);
    CHECK_EQ(co_await co::pread(fd, &byte, 1, 0), -ECANCELED);
    ended++;
}

int main() {
    signal(SIGPIPE, SIG_IGN);
    fin_finish {
        for (int i = 0; i < 5; i++)
            fin_async_task(a_file());
        fin_async_task(only_one_way());
        fin_async_task(has_no_reader());
    }
    CHECK_EQ(ended, 7);
    a_pipe();
    CHECK_EQ(ended, 9);
    char name[] = "fin-coroutine-XXXXXX";
    int fd = mkstemp(name);
    CHECK(fd >= 0 && unlink(name) == 0);
    fin_finish {
        fin_cancel();
        fin_async_task(too_late(fd));
    }
    CHECK_EQ(ended, 10);
    CHECK_EQ(lseek(fd, 0, SEEK_END), 0);
    close(fd);
    return 0;
}

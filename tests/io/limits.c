// SPDX-License-Identifier: BSD-2-Clause
// No space, too large a file, counts of nothing, events of nothing.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "kernels.h"
#include "net.h"
#include "process.h"

static char data[8192];

static void no_space(void) {
    struct iovec v = {data, sizeof data};
    int fd = open("/dev/full", O_RDWR);
    CHECK(fd >= 0);
    CHECK_EQ(fin_write(fd, data, sizeof data), -ENOSPC);
    CHECK_EQ(fin_writev(fd, &v, 1), -ENOSPC);
    CHECK_EQ(fin_pwrite(fd, data, 1, 5), -ENOSPC);
    size_t done = 1;
    CHECK_EQ(fin_write_all(fd, data, sizeof data, &done), -ENOSPC);
    CHECK_EQ(done, 0);
    CHECK_EQ(fin_read(fd, data, 10), 10);
    close(fd);
}

// The input of fin_run is a file of the library's: it is no reason for SIGXFSZ.
static void too_large_an_input(void) {
    const char *const argv[] = {"true", NULL};
    struct fin_spawn how = {.path = "true", .argv = argv};
    int status;
    CHECK_EQ(fin_run(&how, data, sizeof data, NULL, 0, &status), -EFBIG);
}

static void too_large(void) {
    struct rlimit before, small;
    size_t done;
    int fd = nameless_file();
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 5000, .rlim_max = before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    too_large_an_input();
    signal(SIGXFSZ, SIG_IGN);
    CHECK_EQ(fin_write_all(fd, data, sizeof data, &done), -EFBIG); // the first part fits
    CHECK_EQ(done, 5000);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 5000);
    struct iovec v[2] = {{data, 100}, {data, 100}};
    CHECK_EQ(lseek(fd, 4850, SEEK_SET), 4850);
    CHECK_EQ(fin_writev(fd, v, 2), 150);
    CHECK_EQ(fin_writev(fd, v, 2), -EFBIG);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 5000);
    CHECK_EQ(fin_pwrite(fd, data, 1, 5000), -EFBIG);
    CHECK_EQ(fin_pwrite(fd, data, 100, 4990), 10);
    CHECK_EQ(fin_ftruncate(fd, 6000), -EFBIG);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    close(fd);
}

// In a process that has not written yet, and ignores no signal: none comes of a write of which a part fits.
static void part_of_a_page(void) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct rlimit small = {100, 100};
        int fd = nameless_file();
        CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
        CHECK_EQ(fin_write(fd, data, 200), 100);
        CHECK_EQ(lseek(fd, 0, SEEK_CUR), 100);
        _exit(0);
    }
    ended_well(child);
}

static void nothing(int in, int out, bool socket) {
    struct iovec v[2] = {{data, 0}, {NULL, 0}};
    CHECK_EQ(fin_read(in, data, 0), 0);
    if (on_epoll() || tells_waits(in, -1)) { // io_uring waits in a readv, with pipes before Linux 6.4
        CHECK_EQ(fin_readv(in, v, 2), 0);
        CHECK_EQ(fin_readv(in, v, 0), 0);
    }
    CHECK_EQ(fin_write(out, data, 0), 0);
    CHECK_EQ(fin_writev(out, v, 2), 0);
    CHECK_EQ(fin_writev(out, v, 0), 0);
    if (socket) {
        CHECK_EQ(fin_send(out, data, 0, 0), 0);
        fin_shared ssize_t n = 1;
        fin_finish { // a receive of nothing waits for something all the same
            fin_async { n = fin_recv(in, data, 0, 0); };
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            CHECK_EQ(n, 1);
            CHECK_EQ(fin_write(out, data, 1), 1);
        }
        CHECK_EQ(n, 0);
        CHECK_EQ(fin_recv(in, data, 1, 0), 1);
    }
    close(in);
    close(out);
}

static void nothing_of_a_terminal(void) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0)
        return; // none here
    CHECK_EQ(fin_read(master, data, 0), 0);
    close(master);
}

static void events(void) {
    static int fd[2];
    int file = open("/proc/self/exe", O_RDONLY);
    fin_shared int n = 0;
    CHECK_EQ(fin_poll(file, POLLIN | POLLOUT), POLLIN | POLLOUT);
    CHECK_EQ(fin_poll(file, POLLPRI), -EINVAL);
    close(file);
    stream_pair(fd);
    fin_finish {
        fin_async { n = fin_poll(fd[0], 0); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(write(fd[1], "x", 1), 1);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(n, 0);
        fin_cancel();
    }
    CHECK_EQ(n, -ECANCELED);
    fin_finish {
        fin_async { n = fin_poll(fd[0], POLLRDHUP); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(shutdown(fd[1], SHUT_WR), 0);
    }
    CHECK_EQ(n, POLLRDHUP);
    CHECK_EQ(fin_poll(fd[0], POLLIN | POLLRDHUP), POLLIN | POLLRDHUP);
    CHECK_EQ(fin_poll(fd[0], POLLIN), POLLIN);
    close(fd[0]);
    close(fd[1]);
    stream_pair(fd);
    fin_finish {
        fin_async { n = fin_poll(fd[0], 0); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        close(fd[1]);
    }
    CHECK(n & POLLHUP);
    close(fd[0]);
}

int main(void) {
    int fd[2];
    part_of_a_page();
    no_space();
    too_large();
    CHECK_EQ(pipe(fd), 0);
    nothing(fd[0], fd[1], false);
    stream_pair(fd);
    nothing(fd[0], fd[1], true);
    nothing_of_a_terminal();
    events();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// What belongs to an open file belongs to all who have it: no flag of an eventfd or a terminal is set, not for a moment in
// which another thread or process may use it, or this one may be stopped.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fin.h>

#include "terminal.h"

static int changes;

#ifdef __GLIBC__
#define FCNTL fcntl64
#else
#define FCNTL fcntl
#endif

// In place of libc's.
int FCNTL(int fd, int command, ...) {
    va_list list;
    va_start(list, command);
    long r = syscall(SYS_fcntl, fd, command, va_arg(list, long));
    va_end(list);
    changes += command == F_SETFL;
    return (int)r;
}

static void of_eventfd(void) {
    uint64_t one = 1, sum = 0;
    int fd = eventfd(0, EFD_CLOEXEC);
    CHECK_EQ(fin_write(fd, &one, sizeof one), sizeof one);
    CHECK_EQ(fin_write(fd, &one, sizeof one), sizeof one);
    CHECK_EQ(read(fd, &sum, sizeof sum), sizeof sum);
    CHECK(sum == 2);
    close(fd);
}

static void reads(void *fd) {
    char text[8] = "";
    CHECK_EQ(fin_read(*(int *)fd, text, sizeof text), 3);
    CHECK(strcmp(text, "out") == 0);
}

static int open_terminal(int *master) {
    *master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(*master >= 0);
    return raw_terminal(*master, 0);
}

static void of_terminal(void) {
    char text[8] = "";
    int master, fd = open_terminal(&master);
    changes = 0;
    fin_finish {
        fin_async_call(reads, &fd);
        CHECK_EQ(write(master, "out", 3), 3);
    }
    CHECK_EQ(fin_write(fd, "in", 2), 2);
    CHECK_EQ(changes, 0);
    CHECK_EQ(read(master, text, sizeof text), 2);
    CHECK(strcmp(text, "in") == 0);
    close(master);
    CHECK_EQ(fin_write(fd, "x", 1), -EIO); // has hung up
    CHECK_EQ(changes, 0);
    close(fd);
}

// /dev/tty is another terminal for a process that got one of its own since it was opened.
static void of_name_of_terminal(void) {
    char text[8] = "";
    int master[2], fd[2] = {open_terminal(&master[0]), open_terminal(&master[1])}, status;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        CHECK_EQ(ioctl(fd[0], TIOCSCTTY, 0), 0);
        int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
        CHECK(tty >= 0);
        child = fork();
        if (child == 0) {
            setsid();
            CHECK_EQ(ioctl(fd[1], TIOCSCTTY, 0), 0);
            CHECK_EQ(fin_write(tty, "in", 2), 2);
            _exit(0);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        _exit(status != 0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(poll(&(struct pollfd){.fd = master[0], .events = POLLIN}, 1, 5000), 1);
    CHECK_EQ(read(master[0], text, sizeof text), 2);
    CHECK(strcmp(text, "in") == 0);
    for (int i = 0; i < 2; i++) {
        close(master[i]);
        close(fd[i]);
    }
}

int main(void) {
    of_name_of_terminal();
    of_eventfd();
    CHECK_EQ(changes, 0);
    of_terminal();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Where a filter denies io_uring, as those of containers do, I/O goes through epoll and says why.
#include <fcntl.h>
#include <sys/wait.h>

#include "deny.h"
#include "net.h"

// In a child, because a filter stays.
static void answered(unsigned answer, const char *says) {
    pid_t child = fork();
    if (child == 0) {
        deny(SYS_io_uring_setup, answer);
        if (!strstr(fin_io_backend(), says))
            fprintf(stderr, "%s\n", fin_io_backend());
        _exit(!strstr(fin_io_backend(), says));
    }
    denied_ended(child);
}

static bool disabled(void) {
    char value = '0';
    FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "r");
    if (f) {
        CHECK_EQ(fread(&value, 1, 1, f), 1);
        fclose(f);
    }
    return value != '0';
}

// An accept has no flag that keeps it from blocking the thread; where the descriptor cannot have it for the moment either,
// it is not made.
static void blocking_mode_stays(void) {
    struct sockaddr_in address;
    int listener = tcp_listen(&address, 1);
    alarm(60);
    deny_if(SYS_fcntl, 1, IS, F_SETFL, EPERM);
    CHECK_EQ(fin_accept(listener, NULL, NULL), -EPERM);
    close(listener);
}

int main(void) {
    char c;
    unsetenv("FIN_IO");
    answered(EPERM, disabled() ? "kernel.io_uring_disabled" : "seccomp");
    answered(ENOSYS, "no io_uring");
    answered(ENOMEM, "RLIMIT_MEMLOCK");
    answered(EINVAL, "older than that of Linux 5.15");
    answered(EXDEV, "not known");
    deny(SYS_io_uring_setup, EPERM);
    CHECK(strstr(fin_io_backend(), "epoll, because io_uring is denied"));
    byte_comes();
    deny(SYS_openat2, EPERM); // as filters do that are older than the call
    int file = fin_open("/proc/self/exe", O_RDONLY, 0);
    CHECK(file >= 0);
    CHECK_EQ(fin_read(file, &c, 1), 1);
    CHECK_EQ(fin_close(file), 0);
    blocking_mode_stays();
    return 0;
}

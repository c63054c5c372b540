// SPDX-License-Identifier: BSD-2-Clause
// Where a filter denies io_uring, as those of containers do, I/O goes through epoll and says why.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "net.h"

static void deny_call(unsigned number, unsigned answer) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        SKIP("no seccomp filters here");
}

static void deny(unsigned answer) { deny_call(SYS_io_uring_setup, answer); }

// In a child, because a filter stays.
static void answered(unsigned answer, const char *says) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        deny(SECCOMP_RET_ERRNO | answer);
        if (!strstr(fin_io_backend(), says))
            fprintf(stderr, "%s\n", fin_io_backend());
        _exit(!strstr(fin_io_backend(), says));
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        SKIP("no seccomp filters here");
    CHECK_EQ(WEXITSTATUS(status), 0);
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

int main(void) {
    static int fd[2];
    static char c;
    unsetenv("FIN_IO");
    answered(EPERM, disabled() ? "kernel.io_uring_disabled" : "seccomp");
    answered(ENOSYS, "no io_uring");
    answered(ENOMEM, "RLIMIT_MEMLOCK");
    answered(EINVAL, "older than that of Linux 5.15");
    answered(EXDEV, "not known");
    deny(SECCOMP_RET_ERRNO | EPERM);
    CHECK(strstr(fin_io_backend(), "epoll, because io_uring is denied"));
    stream_pair(fd);
    fin_finish {
        fin_async { CHECK_EQ(fin_recv(fd[0], &c, 1, 0), 1); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_send(fd[1], "x", 1, 0), 1);
    }
    CHECK_EQ(c, 'x');
    deny_call(SYS_openat2, SECCOMP_RET_ERRNO | EPERM); // as filters do that are older than the call
    int file = fin_open("/proc/self/exe", O_RDONLY, 0);
    CHECK(file >= 0);
    CHECK_EQ(fin_read(file, &c, 1), 1);
    CHECK_EQ(fin_close(file), 0);
    return 0;
}

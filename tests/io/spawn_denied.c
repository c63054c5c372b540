// SPDX-License-Identifier: BSD-2-Clause
// Where a filter, or a kernel that is not quite Linux, lacks the newer calls for processes: older ones do, or the error says
// so.
#include "child.h"

#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

// Denies a call; where `flags` are given, only with one of them in its first argument.
static void deny(unsigned call, unsigned flags, unsigned error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | (flags ? BPF_JSET : BPF_JGE) | BPF_K, flags, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        SKIP("no seccomp filters here");
}

static void works(void) {
    struct fin_process p;
    char text[16];
    int status, extra = dup(0);
    // Descriptors that nobody named are not there.
    struct fin_spawn list = SHELL("(true <&$0) 2>/dev/null && echo there");
    char number[8];
    snprintf(number, sizeof number, "%d", extra);
    list.argv = (const char *const[]){"sh", "-c", list.argv[2], number, NULL};
    CHECK_EQ(fin_run(&list, NULL, 0, text, sizeof text, NULL), 0);
    close(extra);
    CHECK_EQ(start_shell(&p, "exec sleep 1000"), 0);
    CHECK_EQ(fin_kill(&p, SIGTERM), 0);
    CHECK_EQ(fin_wait(&p, &status), 0);
    CHECK_EQ(WTERMSIG(status), SIGTERM);
    CHECK_EQ(fin_kill(&p, SIGTERM), -ESRCH);
    CHECK_EQ(fin_spawn(&p, &(struct fin_spawn){.path = "/nowhere", .argv = ARGV("x")}), -ENOENT);
    no_child_left();
}

int main(void) {
    struct fin_process p;
    if (on_valgrind())
        SKIP("valgrind needs the calls that are denied here for itself");
    works();
    deny(SYS_close_range, 0, ENOSYS);
    deny(SYS_pidfd_send_signal, 0, ENOSYS);
    works();
    deny(SYS_clone, CLONE_PIDFD, EINVAL);
    works();
    int before = open_descriptors();
    deny(SYS_pidfd_open, 0, ENOSYS);
    CHECK_EQ(fin_spawn(&p, &(struct fin_spawn)SHELL("exit 0")), -ENOSYS);
    CHECK_EQ(open_descriptors(), before);
    no_child_left();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// System calls that a filter answers with an error, from here on, in this process and its children.
#ifndef FIN_TESTS_IO_DENY_H
#define FIN_TESTS_IO_DENY_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

// Only where an argument, counted from 0, IS a value, or HAS one of some flags.
enum { IS = BPF_JEQ, HAS = BPF_JSET };

static inline void deny_if(unsigned call, unsigned argument, unsigned how, unsigned value, unsigned error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t)),
        BPF_JUMP(BPF_JMP | how | BPF_K, value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        SKIP("no seccomp filters here");
}

// With the older call that a libc may make instead: of epoll_pwait also epoll_wait, of fstat also newfstatat.
static inline void deny(unsigned call, unsigned error) {
    deny_if(call, 0, BPF_JGE, 0, error);
#ifdef SYS_epoll_wait
    if (call == SYS_epoll_pwait)
        deny_if(SYS_epoll_wait, 0, BPF_JGE, 0, error);
#endif
#ifdef SYS_newfstatat
    if (call == SYS_fstat)
        deny_if(SYS_newfstatat, 0, BPF_JGE, 0, error);
#endif
}

// A child that has a filter of its own has ended, and well; or there are no filters.
static inline void denied_ended(pid_t child) {
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        SKIP("no seccomp filters here");
    CHECK_EQ(status, 0);
}

#endif

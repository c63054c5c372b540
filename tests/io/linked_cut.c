// SPDX-License-Identifier: BSD-2-Clause
// The kernel takes a part of a chain only, as where it has no memory for more: the rest still comes after it. Here each
// system call takes one request.
#define _GNU_SOURCE
#include <fin/linked.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "net.h"

static int first[2], second[2];

static void take_one(int number, siginfo_t *info, void *context) {
    ucontext_t *u = context;
    (void)number;
    (void)info;
#if defined(__x86_64__)
    greg_t *g = u->uc_mcontext.gregs;
    g[REG_RAX] = syscall(SYS_io_uring_enter, g[REG_RDI], 1L, 0L, g[REG_R10], g[REG_R8], g[REG_R9]);
    if (g[REG_RAX] < 0)
        g[REG_RAX] = -errno;
#else
    unsigned long long *r = u->uc_mcontext.regs;
    long n = syscall(SYS_io_uring_enter, r[0], 1L, 0L, r[3], r[4], r[5]);
    r[0] = (unsigned long long)(n < 0 ? -errno : n);
#endif
}

// What is to take more than one.
static void trap(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 1, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    struct sigaction act = {.sa_sigaction = take_one, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    CHECK_EQ(sigaction(SIGSYS, &act, NULL), 0);
    CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static bool is_there(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void in_order(bool cancelled) {
    char c, text[4] = "";
    struct fin_step steps[] = {fin_step_read(first[0], &c, 1), fin_step_write(second[1], "a", 1),
                               fin_step_write(second[1], "b", 1), fin_step_read(second[0], text, 2)};
    struct fin_step *s = steps; // Clang's blocks have no arrays
    fin_finish_as(all) {
        fin_async {
            CHECK_EQ(fin_linked(s, 4), cancelled ? -ECANCELED : 4);
        };
        for (int i = 0; i < 10; i++) {
            CHECK_EQ(fin_sleep(FIN_US), 0);
            CHECK(!is_there(second[0]));
        }
        if (cancelled)
            fin_cancel_as(all);
        else
            CHECK_EQ(write(first[1], "x", 1), 1);
    }
    CHECK_EQ(s[1].result, cancelled ? -ECANCELED : 1);
    CHECK_EQ(s[3].result, cancelled ? -ECANCELED : 2);
    CHECK(strcmp(text, cancelled ? "" : "ab") == 0);
}

// Two chains at once, of which the kernel may take a part of either.
static void two(void) {
    fin_finish {
        fin_async {
            char c[3];
            struct fin_step s[] = {fin_step_read(first[0], c, 3), fin_step_write(second[1], "z", 1)};
            CHECK_EQ(fin_linked(s, 2), 2);
        };
        fin_async {
            char c;
            struct fin_step s[] = {fin_step_write(first[1], "xyz", 3), fin_step_read(second[0], &c, 1)};
            CHECK_EQ(fin_linked(s, 2), 2);
        };
    }
    CHECK(!is_there(first[0]) && !is_there(second[0]));
}

static void fails(void) {
    char c;
    struct fin_step s[] = {fin_step_read(-1, &c, 1), fin_step_write(second[1], "a", 1)};
    CHECK_EQ(fin_linked(s, 2), 0);
    CHECK_EQ(s[0].result, -EBADF);
    CHECK_EQ(s[1].result, -ECANCELED);
    CHECK(!is_there(second[0]));
}

int main(void) {
    if (on_valgrind())
        SKIP("the filter asks for a signal that valgrind has other ideas of");
    CHECK_EQ(pipe(first), 0);
    CHECK_EQ(pipe(second), 0);
    CHECK_EQ(fin_sleep(1), 0);
    trap();
    in_order(false);
    in_order(true);
    in_order(false);
    two();
    fails();
    return 0;
}

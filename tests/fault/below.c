// SPDX-License-Identifier: BSD-2-Clause
// The points below the libraries: system calls of a child, whoever makes them in it, Fin, liburing, glibc or the scenario.
// Seccomp asks the parent about each; it lets them pass, and answers one of them itself. What a child runs by execve is left
// alone.
//
// A second list has what Linux cannot refuse, given arguments that are right: to wake a futex, to unmap a whole mapping,
// to look at a clock, a name, an identity, a signal mask or for a signal, to get random bytes, to write to an eventfd or to
// a pipe with room; brk, behind which malloc falls back on mmap; and close, which does its work whatever it returns
// (points.c has that). A call in neither list is a failure.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "points.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#if defined(__x86_64__)
#define SYS_RSEQ 334
#else
#define SYS_RSEQ 293
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif

enum { MOST_ADVICE = 12, MOST_OTHERS = 64, GETEVENTS = 1 };

struct points *points;
const bool below = true;

typedef struct seccomp_notif asked;

// Some calls can fail with some arguments only.
static bool waits(const asked *a) {
    int op = (int)a->data.args[1] & FUTEX_CMD_MASK;
    return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET;
}
static bool registers(const asked *a) { return a->data.args[0] == MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED; }
static bool fcntl_may(const asked *a) {
    int op = (int)a->data.args[1];
    return op == F_DUPFD_CLOEXEC || op == F_DUPFD || op == F_ADD_SEALS;
}
static bool adds(const asked *a) { return a->data.args[1] == EPOLL_CTL_ADD; }
static bool timed_3(const asked *a) { return (int)a->data.args[3] != 0; }
__attribute__((unused)) static bool timed_2(const asked *a) { return (int)a->data.args[2] != 0; }
static bool no_hang_3(const asked *a) { return !(a->data.args[3] & WNOHANG); }

// Of a socket: what does not wait is not interrupted.
static bool waits_at(const asked *a, unsigned long flags) {
    char path[64], text[100] = {0};
    unsigned of_file = O_NONBLOCK;
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)a->pid, (int)a->data.args[0]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const char *p = fd >= 0 && read(fd, text, sizeof text - 1) > 0 ? strstr(text, "flags:") : NULL;
    if (fd >= 0)
        close(fd);
    return p && sscanf(p, "flags: %o", &of_file) == 1 && !(of_file & O_NONBLOCK) && !(flags & MSG_DONTWAIT);
}
static bool may_wait(const asked *a) { return points->how == HARD || waits_at(a, a->data.args[3]); }
static bool may_wait_2(const asked *a) { return points->how == HARD || waits_at(a, a->data.args[2]); }

// Interrupted it is only where it waits, and has submitted nothing.
static bool enters(const asked *a) {
    bool submits = a->data.args[1] != 0, gets = a->data.args[2] && a->data.args[3] & GETEVENTS;
    return points->how == HARD ? submits : gets && !submits;
}
static bool advises(const asked *a) {
    (void)a;
    return points->advice++ < MOST_ADVICE; // one for each stack: the later ones are as the first
}

// A file, or what is read from may wait.
static bool transfers(const asked *a) {
    char path[64];
    struct stat s;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)a->pid, (int)a->data.args[0]);
    if (stat(path, &s) != 0)
        return false;
    bool file = S_ISREG(s.st_mode) || S_ISSOCK(s.st_mode);
    return points->how == HARD ? file : !S_ISREG(s.st_mode) && a->data.nr == SYS_read;
}

// hard: as an error; soft: as an interruption. 0: it cannot.
static const struct call {
    int nr;
    const char *name;
    int hard, soft;
    bool (*may)(const asked *);
} calls[] = {
#define CALL(name, ...) {SYS_##name, #name, __VA_ARGS__}
    CALL(mmap, ENOMEM, 0, NULL),
    CALL(mremap, ENOMEM, 0, NULL),
    CALL(mprotect, ENOMEM, 0, NULL),
    CALL(madvise, EINVAL, 0, advises),
    CALL(futex, 0, EINTR, waits),
    CALL(clone, EAGAIN, 0, NULL),
    {435, "clone3", EAGAIN, 0, NULL},
    CALL(execve, ENOMEM, 0, NULL),
    CALL(sigaltstack, ENOMEM, 0, NULL),
    CALL(sched_getaffinity, ENOMEM, 0, NULL),
    CALL(prlimit64, EPERM, 0, NULL),
    CALL(membarrier, EPERM, 0, registers),
    CALL(rt_sigqueueinfo, EAGAIN, 0, NULL),
    CALL(rt_tgsigqueueinfo, EAGAIN, 0, NULL),
    CALL(waitid, 0, EINTR, no_hang_3),
    CALL(pidfd_open, EMFILE, 0, NULL),
    CALL(socket, EMFILE, 0, NULL),
    CALL(socketpair, EMFILE, 0, NULL),
    CALL(accept4, EMFILE, EINTR, NULL),
    CALL(pipe2, EMFILE, 0, NULL),
    CALL(dup, EMFILE, 0, NULL),
    CALL(dup3, EBUSY, 0, NULL),
    CALL(epoll_create1, EMFILE, 0, NULL),
    CALL(timerfd_create, EMFILE, 0, NULL),
    CALL(eventfd2, EMFILE, 0, NULL),
    CALL(memfd_create, EMFILE, 0, NULL),
    CALL(openat, EMFILE, 0, NULL),
    CALL(fcntl, EMFILE, 0, fcntl_may),
    CALL(epoll_ctl, ENOMEM, 0, adds),
    CALL(epoll_pwait, 0, EINTR, timed_3),
    CALL(ppoll, ENOMEM, EINTR, NULL),
#ifdef SYS_poll
    CALL(poll, ENOMEM, EINTR, timed_2),
    CALL(epoll_wait, 0, EINTR, timed_3),
    CALL(dup2, EBUSY, 0, NULL),
    CALL(vfork, EAGAIN, 0, NULL),
#endif
    CALL(read, EIO, EINTR, transfers),
    CALL(write, EIO, 0, transfers),
    CALL(writev, EIO, 0, transfers),
    CALL(pread64, EIO, 0, NULL),
    CALL(pwrite64, EIO, 0, NULL),
    CALL(preadv2, EIO, 0, NULL),
    CALL(pwritev2, EIO, 0, NULL),
    CALL(sendto, ENOBUFS, EINTR, may_wait),
    CALL(recvfrom, ENOMEM, EINTR, may_wait),
    CALL(sendmsg, ENOBUFS, EINTR, may_wait_2),
    CALL(recvmsg, ENOMEM, EINTR, may_wait_2),
    CALL(connect, ENOMEM, 0, NULL),
    CALL(bind, ENOMEM, 0, NULL),
    CALL(listen, EADDRINUSE, 0, NULL),
    CALL(setsockopt, ENOMEM, 0, NULL),
    CALL(newfstatat, ENOMEM, 0, NULL),
    CALL(fstat, ENOMEM, 0, NULL),
    CALL(statx, ENOMEM, 0, NULL),
    CALL(getdents64, EIO, 0, NULL),
    CALL(ftruncate, ENOSPC, 0, NULL),
    CALL(flock, ENOLCK, EINTR, NULL),
    CALL(fallocate, ENOSPC, EINTR, NULL),
    CALL(fsync, EIO, EINTR, NULL),
    CALL(fdatasync, EIO, EINTR, NULL),
    CALL(sync_file_range, EIO, 0, NULL),
    CALL(unlinkat, EIO, 0, NULL),
    CALL(mkdirat, ENOSPC, 0, NULL),
    CALL(symlinkat, ENOSPC, 0, NULL),
    CALL(linkat, ENOSPC, 0, NULL),
    CALL(renameat, ENOSPC, 0, NULL),
    CALL(renameat2, ENOSPC, 0, NULL),
    CALL(readlinkat, EIO, 0, NULL),
    CALL(fchmodat, EIO, 0, NULL),
    CALL(fchownat, EIO, 0, NULL),
    CALL(utimensat, EIO, 0, NULL),
    CALL(mknodat, ENOSPC, 0, NULL),
    CALL(statfs, EIO, 0, NULL),
    CALL(fstatfs, ENOMEM, 0, NULL),
    CALL(syncfs, EIO, 0, NULL),
    CALL(msync, EIO, 0, NULL),
    CALL(copy_file_range, EIO, EINTR, NULL),
    CALL(setxattr, ENOSPC, 0, NULL),
    CALL(lsetxattr, ENOSPC, 0, NULL),
    CALL(fsetxattr, ENOSPC, 0, NULL),
    CALL(getxattr, EIO, 0, NULL),
    CALL(lgetxattr, EIO, 0, NULL),
    CALL(fgetxattr, EIO, 0, NULL),
    CALL(listxattr, EIO, 0, NULL),
    CALL(llistxattr, EIO, 0, NULL),
    CALL(flistxattr, EIO, 0, NULL),
    CALL(removexattr, EIO, 0, NULL),
    CALL(lremovexattr, EIO, 0, NULL),
    CALL(fremovexattr, EIO, 0, NULL),
    CALL(faccessat, EIO, 0, NULL),
    {436, "close_range", ENOSYS, 0, NULL},
    {437, "openat2", EMFILE, 0, NULL},
    CALL(chdir, EIO, 0, NULL),
    CALL(process_vm_readv, EPERM, 0, NULL),
    CALL(ioctl, ENOMEM, 0, NULL),
    CALL(splice, ENOMEM, EINTR, NULL),
    CALL(tee, ENOMEM, EINTR, NULL),
    {425, "io_uring_setup", EMFILE, 0, NULL},
    {426, "io_uring_enter", EAGAIN, EINTR, enters},
    {427, "io_uring_register", ENOMEM, 0, NULL},
};
enum { CALLS = sizeof calls / sizeof *calls };

// What cannot be refused; nor are these, which only the scenario or this program makes: alarm, access, unlink and the like.
// clang-format off
static const int passes[] = {
    SYS_close, SYS_munmap, SYS_brk, SYS_exit, SYS_exit_group, SYS_sched_yield, SYS_nanosleep, SYS_clock_nanosleep,
    SYS_clock_gettime, SYS_restart_syscall, SYS_rt_sigaction, SYS_rt_sigpending, SYS_rt_sigprocmask, SYS_rt_sigreturn,
    SYS_rt_sigtimedwait, SYS_getpid, SYS_gettid, SYS_getppid, SYS_kill, SYS_tgkill, SYS_pidfd_send_signal, SYS_prctl,
    SYS_set_robust_list, SYS_set_tid_address, SYS_RSEQ, SYS_getrandom, SYS_uname, SYS_lseek, SYS_getsockname,
    SYS_timerfd_settime, SYS_getpeername, SYS_getsockopt, SYS_shutdown, SYS_setsid, SYS_setpgid, SYS_wait4, SYS_faccessat2,
#ifdef SYS_access
    SYS_alarm, SYS_access, SYS_unlink, SYS_rmdir,
#else
    SYS_setitimer,
#endif
};
// clang-format on
enum { PASSES = sizeof passes / sizeof *passes };

static int install(void) {
    struct sock_filter f[PASSES + 5];
    unsigned n = 0;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 0, PASSES + 2);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < PASSES; i++)
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)passes[i], PASSES - i, 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = (unsigned short)n, .filter = f};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -errno;
    long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    return fd < 0 ? -errno : (int)fd;
}

// The parent takes the listener, and from then on answers. What waits for it here must not ask.
void begin_child(void) {
    int fd = install();
    __atomic_store_n(&points->listener, fd < 0 ? fd : fd + 1, __ATOMIC_RELEASE);
    while (fd >= 0 && !__atomic_load_n(&points->served, __ATOMIC_ACQUIRE))
        sched_yield();
    if (fd >= 0)
        close(fd);
}

static pid_t others[MOST_OTHERS]; // that run other programs
static int other_count;

static bool is_other(pid_t pid) {
    for (int i = 0; i < other_count; i++)
        if (others[i] == pid)
            return true;
    return false;
}

// The error that this call is to come to, or 0.
static int answer(const asked *a) {
    const struct call *c = calls;
    if (is_other((pid_t)a->pid))
        return 0;
    while (c < calls + CALLS && c->nr != a->data.nr)
        c++;
    if (c == calls + CALLS) {
        points->unknown = a->data.nr;
        return 0;
    }
    int error = points->how == HARD ? c->hard : points->how == INTERRUPTED ? c->soft : 0;
    bool fails = points->armed && error && (!c->may || c->may(a)) && points->count++ == points->chosen;
    if (fails) {
        snprintf(points->name, sizeof points->name, "%s", c->name);
        points->error = error;
    } else if (a->data.nr == SYS_execve && other_count < MOST_OTHERS) {
        others[other_count++] = (pid_t)a->pid;
    }
    return fails ? error : 0;
}

static void answer_one(int listener) {
    asked a = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &a) != 0)
        return; // it has just been killed
    int error = answer(&a);
    struct seccomp_notif_resp r = {.id = a.id, .error = -error, .flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r);
}

// Takes what the child has as its descriptor `number`: it must not be asked to send it.
static int take_listener(int child) {
    int number;
    struct pollfd p = {.fd = child, .events = POLLIN};
    while ((number = __atomic_load_n(&points->listener, __ATOMIC_ACQUIRE)) == 0)
        if (poll(&p, 1, 1) != 0)
            return -ECHILD;
    long fd = number < 0 ? number : syscall(SYS_pidfd_getfd, child, number - 1, 0);
    return number < 0 ? number : fd < 0 ? -errno : (int)fd;
}

int serve_child(pid_t pid) {
    int child = (int)syscall(SYS_pidfd_open, pid, 0), listener = child < 0 ? -errno : take_listener(child);
    other_count = 0;
    struct pollfd p[2] = {{.fd = listener, .events = POLLIN}, {.fd = child, .events = POLLIN}};
    if (listener < 0)
        kill(pid, SIGKILL); // it waits
    __atomic_store_n(&points->served, true, __ATOMIC_RELEASE);
    while (listener >= 0 && poll(p, 2, -1) >= 0 && !p[1].revents)
        if (p[0].revents & POLLIN)
            answer_one(listener);
    if (listener >= 0)
        close(listener);
    if (child >= 0)
        close(child);
    return listener < 0 ? listener : 0;
}

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg) {
    return pthread_create(t, a, fn, arg);
}

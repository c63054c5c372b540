// SPDX-License-Identifier: BSD-2-Clause
// Instead of main.c: one system call is denied from the start, as a seccomp filter does, with EPERM and with ENOSYS. The
// scenario does without, or is told that error, or the program ends with a message that names it; nobody waits in vain,
// tries for ever, or hears another reason. PROGRAM CALL: that one alone.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "../io/deny.h"
#include "fault.h"

enum { TEXT = 4096 };

// What all of a libc or each program needs is not among them; nor what only a scenario calls, or checks by itself.
static const struct call {
    unsigned nr;
    const char *name, *not_in; // scenarios that need it for themselves, or what they run does
} calls[] = {
#define CALL(name, not_in) {SYS_##name, #name, not_in}
    CALL(mprotect, "processes"),
    CALL(madvise, ""),
    CALL(clone, ""),
    CALL(sigaltstack, ""),
    CALL(sched_getaffinity, ""),
    CALL(membarrier, ""),
    CALL(rt_sigqueueinfo, ""),
    CALL(rt_tgsigqueueinfo, ""),
    CALL(waitid, "processes"),
    CALL(socket, ""),
    CALL(socketpair, ""),
    CALL(accept4, ""),
    CALL(pipe2, ""),
    CALL(dup3, ""),
    CALL(epoll_create1, "processes"),
    CALL(timerfd_create, ""),
    CALL(timerfd_settime, ""),
    CALL(eventfd2, "processes"),
    CALL(memfd_create, ""),
    CALL(fcntl, ""),
    CALL(epoll_ctl, "processes"),
    CALL(epoll_pwait, "processes"), // and epoll_wait: deny.h
#ifdef SYS_poll
    CALL(poll, "processes"),
#endif
    CALL(ppoll, "processes"),
    CALL(pread64, "processes"),
    CALL(pwrite64, ""),
    CALL(preadv2, ""),
    CALL(pwritev2, ""),
    CALL(readv, ""),
    CALL(sendto, ""),
    CALL(recvfrom, ""),
    CALL(sendmsg, ""),
    CALL(recvmsg, "services"),
    CALL(connect, ""),
    CALL(bind, ""),
    CALL(listen, ""),
    CALL(ftruncate, ""),
    CALL(fallocate, ""),
    CALL(fsync, ""),
    CALL(fdatasync, ""),
    CALL(statx, ""),
    CALL(fstatfs, ""),
    CALL(copy_file_range, ""),
    CALL(process_vm_readv, ""),
    CALL(ioctl, ""),
    CALL(splice, ""),
    CALL(tee, ""),
    CALL(sched_yield, ""),
    CALL(rt_sigaction, ""),
    CALL(rt_sigprocmask, ""),
    CALL(rt_sigtimedwait, ""),
    CALL(gettid, "processes"),
    CALL(kill, ""),
    CALL(tgkill, "processes"),
    CALL(prctl, ""),
    CALL(lseek, ""),
    CALL(getpeername, ""),
    CALL(getsockopt, ""),
    CALL(setsockopt, ""),
    CALL(shutdown, ""),
    CALL(flock, ""),
    {424, "pidfd_send_signal", ""},
    {425, "io_uring_setup", ""},
    {426, "io_uring_enter", ""},
    {427, "io_uring_register", ""},
    {434, "pidfd_open", ""},
    {435, "clone3", ""},
    {436, "close_range", ""},
    {437, "openat2", ""},
};

static const struct call *call;
static unsigned error;
static bool any, true_one;

// What follows from an error, elsewhere, is no wrong reason, where somebody hears the true one.
bool fine(long r) {
    if (r >= 0)
        return true;
    __atomic_store_n(&any, true, __ATOMIC_RELAXED);
    if (r == -(long)error)
        __atomic_store_n(&true_one, true, __ATOMIC_RELAXED);
    else if (r != -ECANCELED && r != -ESHUTDOWN && r != -ECONNRESET && r != -ECONNABORTED && r != -EPIPE)
        fprintf(stderr, "the reason is said to be: %s\n", strerror((int)-r));
    return false;
}

bool spoiled(void) { return true; }
bool failed(void) { return __atomic_load_n(&any, __ATOMIC_RELAXED); }
void close_again(int fd) { close(fd); }

// What the threads and processes that it starts do, too, are denied.
static void *on_thread(void *unused) {
    deny(call->nr, error);
    scenario();
    return unused;
}

static void in_child(void) {
    pthread_t t;
    setrlimit(RLIMIT_CPU, &(struct rlimit){5, 5});
    alarm(20);
    CHECK_EQ(pthread_create(&t, NULL, on_thread, NULL), 0);
    pthread_join(t, NULL);
    if (any && !true_one)
        fprintf(stderr, "the reason is said by nobody\n");
    _exit(0);
}

static void denied(void) {
    static char text[TEXT];
    int fd = memfd_create("text", MFD_CLOEXEC), status;
    fflush(NULL);
    pid_t child = fork();
    CHECK(fd >= 0 && child >= 0);
    if (child == 0) {
        dup2(fd, STDERR_FILENO);
        in_child();
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    ssize_t n = pread(fd, text, TEXT - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    close(fd);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        SKIP("no seccomp filters here");
    bool told = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(text, strerror((int)error));
    if (!told && (status != 0 || strstr(text, "the reason is said"))) {
        fprintf(stderr, "%s denied, %s: status 0x%x\n%s", call->name, strerror((int)error), (unsigned)status, text);
        exit(1);
    }
}

int main(int argc, char **argv) {
    const char *want = argc > 1 ? argv[1] : "", *scenario_name = strrchr(argv[0], '/');
    if (on_valgrind())
        SKIP("a child for each call, of which valgrind needs some for itself");
    signal(SIGPIPE, SIG_IGN);
    if (prepare)
        prepare();
    for (call = calls; call < calls + sizeof calls / sizeof *calls; call++) {
        bool here = !*call->not_in || !scenario_name || !strstr(scenario_name, call->not_in);
        for (int i = 0; here && i < 2; i++) {
            error = i ? ENOSYS : EPERM;
            if (!*want || strcmp(want, call->name) == 0)
                denied();
        }
    }
    return 0;
}

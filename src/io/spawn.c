// SPDX-License-Identifier: BSD-2-Clause
// Child processes begin: as vfork does it, with a pidfd from the same system call.
#define _GNU_SOURCE
#include <fin/process.h>

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/runtime.h"
#include "io/reap.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif

enum { CHILD_STACK = 64 * 1024, FIRST_OTHER_FD = 3 };

// What the child needs. It shares the parent's memory, whose thread stands still until the program is loaded; or it has a
// copy of it, where a tool does not know that way. So what went wrong comes back through a pipe, which a program that runs
// has closed.
struct start {
    const struct fin_spawn *how;
    int report;
    int *moved; // fd_count descriptors
    volatile bool shares; // set by a child that has the parent's memory: when clone returns it runs its program or has ended
};

// Those that there are. False: there is no /proc.
static bool close_listed(void) {
    struct {
        uint64_t inode, offset;
        uint16_t size;
        char type, name[];
    } *e;
    char room[2048] __attribute__((aligned(8)));
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return false;
    for (long n; (n = syscall(SYS_getdents64, folder, room, sizeof room)) > 0;) {
        for (long at = 0; at < n; at += e->size) {
            e = (void *)(room + at);
            if (e->name[0] != '.' && atoi(e->name) >= FIRST_OTHER_FD)
                fcntl(atoi(e->name), F_SETFD, FD_CLOEXEC);
        }
    }
    close(folder);
    return true;
}

// All that there might be: a thousand million where a container sets such a limit.
static int close_possible(void) {
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &most) != 0)
        return -1;
    for (int fd = FIRST_OTHER_FD; (rlim_t)fd < most.rlim_cur; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return 0;
}

static int close_others(void) {
    if (syscall(SYS_close_range, FIRST_OTHER_FD, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0)
        return 0;
    return close_listed() ? 0 : close_possible();
}

static bool is_asked_for(const struct fin_spawn *how, int fd) {
    for (size_t i = 0; i < how->fd_count; i++)
        if (how->fds[i].child == fd)
            return true;
    return false;
}

// A copy under the next number that nobody has asked for. *from: where none is lower.
static int aside(const struct fin_spawn *how, int fd, int *from) {
    for (;;) {
        int copy = fcntl(fd, F_DUPFD_CLOEXEC, *from);
        if (copy < 0 && errno == EINVAL) // beyond what the process may have
            errno = EMFILE;
        if (copy < 0)
            return -1;
        *from = copy + 1;
        if (!is_asked_for(how, copy))
            return copy;
        close(copy);
    }
}

// By way of numbers that nobody has asked for: descriptors may change places.
static int place_descriptors(struct start *s) {
    const struct fin_spawn *how = s->how;
    int from = FIRST_OTHER_FD, report = aside(how, s->report, &from);
    if (report < 0)
        return -1;
    s->report = report;
    for (size_t i = 0; i < how->fd_count; i++) {
        int own = how->fds[i].own, null = -1;
        if (own == FIN_SPAWN_NULL)
            own = null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (own < 0 && how->fds[i].own == FIN_SPAWN_NULL) // what open said
            return -1;
        s->moved[i] = aside(how, own, &from);
        if (s->moved[i] < 0)
            return -1;
        if (null >= 0)
            close(null);
    }
    if (!(how->flags & FIN_SPAWN_INHERIT) && close_others() != 0)
        return -1;
    for (size_t i = 0; i < how->fd_count; i++)
        if (dup2(s->moved[i], how->fds[i].child) < 0)
            return -1;
    return 0;
}

// Handlers would run in the parent's memory: they go before any signal can come.
static int set_signals(const struct fin_spawn *how) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, &action, NULL) != 0 && errno != EINVAL) // the ones that cannot be changed need not be
            return -1;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, how->mask ? how->mask : &none, NULL);
}

static int prepare(struct start *s) {
    const struct fin_spawn *how = s->how;
    if (how->flags & FIN_SPAWN_SESSION ? setsid() < 0 : how->flags & FIN_SPAWN_GROUP && setpgid(0, how->group) != 0)
        return -1;
    if (how->directory && chdir(how->directory) != 0)
        return -1;
    return place_descriptors(s) == 0 ? set_signals(how) : -1;
}

static int child(void *start) {
    ((struct start *)start)->shares = true;
    struct start s = *(struct start *)start; // the rest of the parent's it is to leave alone
    const struct fin_spawn *how = s.how;
    if (prepare(&s) == 0)
        execvpe(how->path, (char *const *)how->argv, how->envp ? (char *const *)how->envp : environ);
    int error = errno;
    while (write(s.report, &error, sizeof error) < 0 && errno == EINTR) {
    }
    _exit(127);
}

// Sanitizers do not know that two processes share memory. Where the kernel is not the one it seems to be (qemu's user mode),
// the descriptor may have to be asked for afterwards.
static int new_process(struct start *s, void *stack, struct fin_process *p) {
    int flags = SIGCHLD | (fin_tracking(fin_here()) ? 0 : CLONE_VM | CLONE_VFORK);
    p->fd = -1;
    p->pid = clone(child, stack, flags | CLONE_PIDFD, s, &p->fd);
    if (p->pid >= 0 || errno != EINVAL)
        return p->pid < 0 ? -errno : 0;
    p->pid = clone(child, stack, flags, s);
    if (p->pid < 0)
        return -errno;
    p->fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    if (p->fd >= 0)
        return 0;
    int error = -errno;
    if (error != -ESRCH) { // it is gone, where nobody waits for children (SIGCHLD is ignored); its number may be another's
        kill(p->pid, SIGKILL);
        fin_reap(p, NULL, 0);
    }
    return error;
}

// What the child reported: 0 where its program runs. One that another thread forked may have the pipe's other end, for as
// long as it lives: where it is known that nothing more will come, that is not waited for.
static int heard(int fd, bool all_is_there) {
    int error;
    ssize_t n;
    if (all_is_there)
        fcntl(fd, F_SETFL, O_NONBLOCK);
    while ((n = read(fd, &error, sizeof error)) < 0 && errno == EINTR) {
    }
    return n == sizeof error ? -error : 0;
}

// A signal that came now would run its handler in the child, with this memory.
static int new_process_without_signals(struct start *s, void *stack, struct fin_process *p) {
    sigset_t all, before;
    sigfillset(&all);
    int error = -pthread_sigmask(SIG_SETMASK, &all, &before);
    if (error) // a filter
        return error;
    error = new_process(s, stack, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static int start(struct start *s, void *stack, struct fin_process *p) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return -errno;
    s->report = report[1];
    s->shares = false;
    int error = new_process_without_signals(s, stack, p);
    close(report[1]);
    bool gone = error == -ESRCH;
    if (error == 0 || gone) {
        int said = heard(report[0], s->shares || gone);
        error = said != 0 ? said : error;
        if (error != 0 && !gone) {
            fin_reap(p, NULL, 0);
            close(p->fd);
        }
    }
    close(report[0]);
    return error;
}

static bool valid(const struct fin_spawn *how) {
    if (how->flags & ~(unsigned)(FIN_SPAWN_GROUP | FIN_SPAWN_SESSION | FIN_SPAWN_INHERIT))
        return false;
    for (size_t i = 0; how->fds && i < how->fd_count; i++)
        if (how->fds[i].child < 0)
            return false;
    return how->path && how->argv && how->argv[0] && (how->fds || how->fd_count == 0);
}

// Numbers that are nobody's now may be those of what the call makes. Returns 0 or -EBADF.
static int look_for_descriptors(const struct fin_spawn *how) {
    for (size_t i = 0; i < how->fd_count; i++)
        if (how->fds[i].own != FIN_SPAWN_NULL && fcntl(how->fds[i].own, F_GETFD) < 0)
            return -errno;
    return 0;
}

// As one that has been waited for: the number that a descriptor had may be another process's soon.
static void no_process(struct fin_process *p) {
    p->fd = -1;
    p->waited = 0;
}

int fin_spawn_nc(struct fin_process *p, const struct fin_spawn *how) {
    size_t argc = 0;
    no_process(p);
    if (!valid(how))
        return -EINVAL;
    int error = look_for_descriptors(how);
    if (error)
        return error;
    while (how->argv[argc])
        argc++; // the arguments of a shell are put together on the stack
    size_t size = CHILD_STACK + (argc + 4) * sizeof(char *) + how->fd_count * sizeof(int);
    size = (size + fin_host_page_size() - 1) & ~(fin_host_page_size() - 1);
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    struct start s = {.how = how, .moved = (int *)memory};
    error = start(&s, memory + size, p);
    munmap(memory, size);
    if (error)
        no_process(p);
    return error;
}

int fin_spawn(struct fin_process *p, const struct fin_spawn *how) {
    if (!fin_cancelled())
        return fin_spawn_nc(p, how);
    no_process(p);
    return -ECANCELED;
}

// SPDX-License-Identifier: BSD-2-Clause
// Child processes end: awaited by polling their pidfd, then reaped by it.
#define _GNU_SOURCE
#include <fin/process.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fin/io.h>
#include <fin/on.h>

#include "core/told.h"
#include "file_limit.h"
#include "io/io.h"
#include "io/reap.h"
#include "own_thread.h"
#include "io/libc.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static int status_of(const siginfo_t *i) {
    return i->si_code == CLD_EXITED ? (i->si_status & 0xff) << 8 : i->si_status | (i->si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

int fin_reap(const struct fin_process *p, int *status, int flags) {
    siginfo_t i;
    int r;
    i.si_pid = 0;
    do
        r = p->fd >= 0 ? waitid(P_PIDFD, (id_t)p->fd, &i, WEXITED | flags)
                       : waitid(P_PID, (id_t)p->pid, &i, WEXITED | flags);
    while (r != 0 && errno == EINTR);
    if (r != 0)
        return -errno;
    if (i.si_pid != 0 && status)
        *status = status_of(&i);
    return i.si_pid != 0;
}

// A process that is traced tells its tracer first: its descriptor says that it has ended, and nothing is there to reap.
static FIN_BLOCKING int wait_for_end(struct fin_process *p, int *status, bool nc) {
    int r;
    do {
        r = fin_io_poll(p->fd, POLLIN, nc);
        if (r < 0)
            return r;
        r = fin_reap(p, status, WNOHANG);
        if (r != 0)
            return r;
        r = fin_io_pause(nc);
    } while (r == 0);
    return r;
}

static bool claim(struct fin_process *p) { return __atomic_exchange_n(&p->waited, 1, __ATOMIC_ACQ_REL) == 0; }
static void unclaim(struct fin_process *p) { __atomic_store_n(&p->waited, 0, __ATOMIC_RELEASE); }

// The claim is over. 1 or -ECHILD: so is the process.
static int waited(struct fin_process *p, int r) {
    if (r >= 0 || r == -ECHILD) {
        if (p->fd >= 0)
            close(p->fd);
        p->fd = -1;
    }
    unclaim(p);
    return r > 0 ? 0 : r;
}

static FIN_BLOCKING int wait_and_reap(struct fin_process *p, int *status, bool nc) {
    return claim(p) ? waited(p, p->fd < 0 ? -ECHILD : wait_for_end(p, status, nc)) : -EBUSY;
}

int fin_wait(struct fin_process *p, int *status) { return wait_and_reap(p, status, false); }
int fin_wait_nc(struct fin_process *p, int *status) { return wait_and_reap(p, status, true); }

// With a continuation: in the program's struct fin_more_on.
struct process_on {
    struct fin_kept kept; // first: the address of this is the state of our continuation
    struct fin_process *process;
    int *status;
    bool nc;
    struct fin_on on;
};
_Static_assert(sizeof(struct process_on) <= sizeof(struct fin_more_on), "room for a wait");

static FIN_BLOCKING FIN_INNER void ended(void *state, int result);

static int await_end(struct process_on *w) {
    const struct call c = {.op = IORING_OP_POLL_ADD, .fd = w->process->fd, .flags = POLLIN, .nc = w->nc};
    return fin_on_call(&w->on, &c, ended, &w, sizeof w);
}

// As wait_for_end(), with a stack for a process that is traced.
static FIN_BLOCKING FIN_INNER void ended(void *state, int result) {
    struct process_on *w = *(struct process_on **)state;
    if (result >= 0)
        result = fin_reap(w->process, w->status, WNOHANG);
    if (result == 0)
        result = fin_io_pause(w->nc);
    if (result == 0)
        result = await_end(w);
    fin_cont_tell(&w->kept, waited(w->process, result));
}

static int wait_on(struct fin_process *p, int *status, bool nc, struct fin_more_on *storage, fin_cont *cont,
                   const void *state, size_t size) {
    struct process_on *w = (struct process_on *)(void *)storage;
    int error = nc ? fin_cont_begin(cont, size, false) : fin_cont_may_wait(cont, state, size);
    if (error)
        return error;
    if (!claim(p))
        return fin_cont_call(cont, state, size, -EBUSY);
    if (p->fd < 0)
        return fin_cont_call(cont, state, size, waited(p, -ECHILD));
    fin_keep(&w->kept, cont, state, size);
    w->process = p;
    w->status = status;
    w->nc = nc;
    return waited(p, await_end(w)); // it was refused
}

int fin_wait_on(struct fin_process *p, int *status, struct fin_more_on *on, fin_cont *cont, const void *state, size_t size) {
    return wait_on(p, status, false, on, cont, state, size);
}

int fin_wait_on_nc(struct fin_process *p, int *status, struct fin_more_on *on, fin_cont *cont, const void *state,
                   size_t size) {
    return wait_on(p, status, true, on, cont, state, size);
}

int fin_kill(const struct fin_process *p, int signal) {
    if (p->fd < 0)
        return -ESRCH;
    if (syscall(SYS_pidfd_send_signal, p->fd, signal, NULL, 0) == 0)
        return 0;
    if (!fin_host_denied(-errno))
        return -errno;
    // Valgrind does not know that call, and a filter may be older. The number is the child's as long as it can be reaped.
    siginfo_t i;
    return waitid(P_PIDFD, (id_t)p->fd, &i, WEXITED | WNOHANG | WNOWAIT) == 0 ? fin_io_result(kill(p->pid, signal))
           : errno == ECHILD                                                  ? -ESRCH
                                                                              : -errno;
}

// The reaper: a thread that waits for all abandoned processes in one epoll, from the first one on. The child of a fork has
// processes of its own, and none of its parent's threads.
static struct {
    pthread_mutex_t mutex;
    pid_t in;
    int epoll;
} reaper = {.mutex = PTHREAD_MUTEX_INITIALIZER};

// The numbers of the processes' descriptors are only in the parent's epoll: they stay until exec.
void fin_reaper_forked(void) {
    pthread_mutex_init(&reaper.mutex, NULL);
    if (reaper.in)
        close(reaper.epoll);
    reaper.in = 0;
}

static void reap_abandoned(void) {
    struct epoll_event e;
    int epoll = reaper.epoll;
    for (;;) {
        if (epoll_wait(epoll, &e, 1, -1) != 1) {
            if (errno == EBADF || errno == EINVAL)
                fin_host_die("nobody can reap children: the program has closed a descriptor that is not its own");
            if (errno != EINTR)
                fin_host_die_of("nobody can reap children, as epoll_wait(2) fails", errno, "");
            continue;
        }
        struct fin_process p = {.fd = e.data.fd};
        if (fin_reap(&p, NULL, WNOHANG) == 0) {
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); // traced
            continue;
        }
        // Where a child has its open file still a close would leave it in the epoll, under a number that is another's then.
        epoll_ctl(epoll, EPOLL_CTL_DEL, p.fd, NULL);
        close(p.fd);
    }
}

static int start_reaper(void) {
    static const struct fin_own_thread thread = {.name = "fin-reap", .run = reap_abandoned};
    struct epoll_event none;
    reaper.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (reaper.epoll < 0)
        return -errno;
    int error = epoll_wait(reaper.epoll, &none, 1, 0) < 0 && errno != EINTR ? -errno : 0; // a filter
    if (error == 0)
        error = fin_own_thread_start(&thread);
    if (error)
        close(reaper.epoll);
    return error;
}

int fin_abandon(struct fin_process *p) {
    if (!claim(p))
        return -EBUSY;
    int error = fin_io_watch_forks();
    if (error) {
        unclaim(p);
        return error;
    }
    pthread_mutex_lock(&reaper.mutex);
    if (reaper.in != getpid()) {
        error = start_reaper();
        reaper.in = error ? 0 : getpid();
    }
    struct epoll_event e = {.events = EPOLLIN, .data.fd = p->fd};
    if (error == 0 && p->fd >= 0 && epoll_ctl(reaper.epoll, EPOLL_CTL_ADD, p->fd, &e) != 0)
        error = -errno;
    pthread_mutex_unlock(&reaper.mutex);
    if (error == 0)
        p->fd = -1;
    unclaim(p);
    return error;
}

// Before it is reaped its number is its own, and so is that of its group.
static void kill_all(const struct fin_process *p, const struct fin_spawn *how) {
    if (how->flags & FIN_SPAWN_SESSION || (how->flags & FIN_SPAWN_GROUP && how->group == 0))
        kill(-p->pid, SIGKILL);
    fin_kill(p, SIGKILL);
}

static FIN_BLOCKING void end_now(struct fin_process *p, const struct fin_spawn *how) {
    if (p->fd < 0)
        return;
    kill_all(p, how);
    fin_wait_nc(p, NULL);
    if (p->fd < 0) // it is over, also where somebody else has reaped it
        return;
    fin_reap(p, NULL, 0); // the thread cannot get what it waits with
    close(p->fd);
}

static FIN_BLOCKING ssize_t collect(struct fin_process *p, int fd, char *output, size_t room, int *status) {
    char rest[4096];
    size_t total = 0;
    ssize_t n;
    while ((n = total < room ? fin_read(fd, output + total, room - total) : fin_read(fd, rest, sizeof rest)) > 0)
        total += (size_t)n;
    if (n == 0)
        n = fin_wait(p, status);
    return n == 0 ? (ssize_t)total : n;
}

// A file in memory: nobody has to feed it while the program writes.
static int input_file(const char *input, size_t size) {
    int error = fin_file_limit(size);
    if (error != 0)
        return error;
    int fd = memfd_create("fin_run", MFD_CLOEXEC);
    for (size_t at = 0; fd >= 0 && at < size;) {
        ssize_t n = pwrite(fd, input + at, size - at, (off_t)at);
        if (n < 0 && errno != EINTR) {
            error = -errno;
            close(fd);
            return error;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    return fd < 0 ? -errno : fd;
}

// What a run has. A thread that ends in the middle of it ends that, too.
struct running {
    struct owned owned;
    struct fin_process process;
    int in, out[2]; // -1 where it is closed
    struct fin_spawn how;
    struct fin_spawn_fd fds[];
};

static void close_if_open(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void dispose(struct running *r) {
    close_if_open(&r->in);
    close_if_open(&r->out[0]);
    close_if_open(&r->out[1]);
    fin_owned_remove(&r->owned);
    free(r);
}

static void lost(struct owned *o) {
    struct running *r = FIN_OF(struct running, owned, o);
    if (r->process.fd >= 0) {
        kill_all(&r->process, &r->how);
        fin_reap(&r->process, NULL, 0);
        close(r->process.fd);
    }
    dispose(r);
}

static FIN_BLOCKING ssize_t run_with(struct running *r, void *output, size_t room, int *status) {
    ssize_t n = fin_spawn(&r->process, &r->how);
    close_if_open(&r->out[1]);
    if (n != 0)
        return n;
    n = collect(&r->process, r->out[0], output, room, status);
    if (fin_owned_here(&r->owned))
        end_now(&r->process, &r->how);
    else // cancelled in the child of a fork: the program is the parent's
        close_if_open(&r->process.fd);
    return n;
}

static int open_files(struct running *r, const void *input, size_t size) {
    r->in = size ? input_file(input, size) : FIN_SPAWN_NULL;
    return size && r->in < 0 ? r->in : pipe2(r->out, O_CLOEXEC) != 0 ? -errno : 0;
}

static struct running *new_running(struct io *io, const struct fin_spawn *how) {
    struct running *r = malloc(sizeof *r + (how->fd_count + 2) * sizeof *r->fds);
    if (!r)
        return NULL;
    *r = (struct running){.process.fd = -1, .in = -1, .out = {-1, -1}, .how = *how};
    if (how->fd_count)
        memcpy(r->fds, how->fds, how->fd_count * sizeof *r->fds);
    r->how.fds = r->fds;
    fin_owned_add(&r->owned, io, lost);
    return r;
}

ssize_t fin_run(const struct fin_spawn *how, const void *input, size_t size, void *output, size_t room, int *status) {
    if (!how->fds && how->fd_count)
        return -EINVAL;
    for (size_t i = 0; i < how->fd_count; i++)
        if (how->fds[i].child == STDIN_FILENO || how->fds[i].child == STDOUT_FILENO)
            return -EINVAL;
    struct io *io;
    int error = fin_cancelled() ? -ECANCELED : fin_io_here(&io);
    if (error)
        return error;
    struct running *r = new_running(io, how);
    if (!r)
        return -ENOMEM;
    ssize_t n = open_files(r, input, size);
    if (n == 0) {
        r->fds[r->how.fd_count++] = (struct fin_spawn_fd){STDIN_FILENO, r->in};
        r->fds[r->how.fd_count++] = (struct fin_spawn_fd){STDOUT_FILENO, r->out[1]};
        n = run_with(r, output, room, status);
    }
    dispose(r);
    return n;
}

// SPDX-License-Identifier: BSD-2-Clause
// Child processes, by descriptor (pidfd): no call here ever reaches another process that got the same number later.
//
//     struct fin_process p;
//     const char *argv[] = {"sort", "-n", NULL};
//     int status, r = fin_spawn(&p, &(struct fin_spawn){.path = "sort", .argv = argv});
//     if (r == 0)
//         r = fin_wait(&p, &status);
//
// Whoever spawned a process has to reap it: with fin_wait or, without waiting, with fin_abandon. A wait that is cancelled
// has not reaped it. Each process needs one of the two; otherwise a zombie stays, as with fork(2).
//
// Nothing here uses SIGCHLD. If the program ignores that signal, or reaps its children with wait(-1), the status of a
// process is lost: fin_wait then waits as always, and returns -ECHILD.
#ifndef FIN_PROCESS_H
#define FIN_PROCESS_H

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // in C++ a structure and a function have one name
#endif

#include <fin/finish.h>

#include <signal.h>
#include <sys/types.h>

#if defined(__STRICT_ANSI__) && !defined(__cplusplus) && !defined(_POSIX_C_SOURCE) && !defined(_GNU_SOURCE)
#error "sigset_t is not C11's own: compile with -std=gnu11 (CMake: C_EXTENSIONS ON), or define _POSIX_C_SOURCE as 200809L"
#define sigset_t void // no more errors than that
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct fin_process {
    pid_t pid; // for messages; its number is another process's once it has been waited for
    int fd;    // pidfd, close-on-exec; readable when the process has ended
    uint32_t waited;
};

// The child gets the caller's descriptor `own` as its descriptor `child`; if `own` is FIN_SPAWN_NULL, /dev/null.
struct fin_spawn_fd {
    int child, own;
};

enum { FIN_SPAWN_NULL = -1 };

enum {
    FIN_SPAWN_GROUP = 1,   // joins the process group `group`; 0: begins one of its own
    FIN_SPAWN_SESSION = 2, // begins a session, and with it a group
    FIN_SPAWN_INHERIT = 4, // has all descriptors that are not close-on-exec
};

// What is not set is as in the caller. The child has the descriptors 0, 1 and 2 and those in `fds`, and no others.
// Descriptors may change places: all of `fds` takes effect at once. In the child all signals have their default action, also
// those that the caller ignores.
struct fin_spawn { // in C++, too, with `struct`, as a function has that name
    const char *path; // looked for in the caller's PATH if it has no slash; a file that is no program is run by the shell
    const char *const *argv; // ends with NULL; not empty
    const char *const *envp; // ends with NULL; NULL: the caller's environment
    const char *directory;   // to change to first; paths are then relative to it
    const struct fin_spawn_fd *fds;
    size_t fd_count;
    const sigset_t *mask; // of blocked signals; NULL: none
    pid_t group;
    unsigned flags;
};

// Starts a program. Returns 0 when it runs; or a negative errno: that of execve (-ENOENT, -EACCES ...), of a step before
// it (-EBADF: a descriptor in `fds`; -ENOENT: the directory), -EAGAIN if there may be no more processes, -EMFILE or
// -ENFILE (it needs three descriptors, of which it keeps one), -ENOSYS if the system has no pidfds; -EINVAL: `how` is not
// as above; -ECANCELED in a cancelled block. No process is left then, and the handle is as one that has been waited for.
// Stops the thread, not only the AWE, until the program has been loaded: some hundred microseconds if its file is in
// memory; with ASan or TSan, which need a copy of the memory as fork(2) makes it, some milliseconds, and tens in a large
// program. From any thread.
int fin_spawn(struct fin_process *p, const struct fin_spawn *how);
int fin_spawn_nc(struct fin_process *p, const struct fin_spawn *how);

// Waits until the process has ended, and reaps it: the handle is used up. *status is as waitpid's: WIFEXITED(*status) ... ;
// it may be NULL. Returns 0; -ECANCELED, and the process has not been reaped; -ECHILD if it has ended and somebody else
// reaped it, or the handle is used up; -EBUSY if another AWE waits for the same handle, also one whose wait has just been
// cancelled and that has not run since. Blocking. From any thread.
FIN_BLOCKING int fin_wait(struct fin_process *p, int *status);
FIN_BLOCKING int fin_wait_nc(struct fin_process *p, int *status);

// Sends a signal, 0 for none, to the process alone. -ESRCH if it has been reaped. Does not block. From any thread, but not
// in a race with the end of a fin_wait for the same handle. (To the group that it has of its own: kill(-p->pid, signal),
// before it has been waited for; until then no other group has that number.)
int fin_kill(const struct fin_process *p, int signal);

// Uses up the handle without waiting: the process goes on, and a thread of the library reaps it when it ends. That thread,
// with a descriptor, is there from the first call to the end of this process. Returns 0, also for a handle that is used up;
// -EBUSY if an AWE waits for the same handle; or -EAGAIN, -EMFILE, -ENFILE, -ENOMEM, -ENOSPC (epoll_ctl(2)). After an error
// the handle is still the caller's. Does not block. From any thread.
int fin_abandon(struct fin_process *p);

// Runs a program to its end, and until nobody has the descriptor 1 any more that it was given: what it leaves behind may.
// The program reads `input` from its descriptor 0, and what is written to 1 goes to `output`; `fds` must not name these
// two. What it writes to 2 goes where the caller's does, unless `fds` says where: to a file, as of memfd_create, which the
// caller reads afterwards. Returns how many bytes were written to 1, of which the first `room` are in `output`; *status is
// as of fin_wait. Or a negative errno: what fin_spawn returns; -ECHILD, as from fin_wait; -EMFILE or -ENFILE; -EFBIG:
// `size` is beyond RLIMIT_FSIZE; -ECANCELED. No process is left after an error, nor when the thread ends in the middle of
// this: one that had begun has been killed (with its group, where it has one of its own) and reaped. A child of fork(2) that
// cancels what its parent waits for here leaves the program alone. Blocking. From any thread.
FIN_BLOCKING ssize_t fin_run(const struct fin_spawn *how, const void *input, size_t size, void *output, size_t room,
                             int *status);

#ifdef __cplusplus
}
#endif
#endif

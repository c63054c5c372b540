// SPDX-License-Identifier: BSD-2-Clause
// Operations that follow each other: the system starts each when the one before it has succeeded, so a chain costs one
// system call and one wait; a close, and each step after it or after an fsync, one more. See fin/io.h for what holds for all
// calls.
#ifndef FIN_LINKED_H
#define FIN_LINKED_H

#include <fin/io.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FIN_LINKED_MOST = 32 };

struct fin_step {
    ssize_t result;    // what the function of that name would have returned; -ECANCELED if it was not begun
    uint64_t call_[8]; // fin_step_... fill it in
};

// Runs the steps in order. One that fails, or transfers less than it was told to, ends the chain; those after it are not
// begun. A send goes on until all is sent, a receive with MSG_WAITALL until all has come; for other receives any number is
// enough. What a step has closed is closed for those after it: for example, a write to a pipe that has no reader any more is
// -EPIPE. A step whose descriptor fin_close closes meanwhile, in this thread, is -EBADF; a close in another thread is seen
// only if no step before it waits. If the chain is cancelled, the step that ran says what it did, as its function would.
// Returns how many steps succeeded, so that steps[count] is the one that failed; or -EINVAL for no steps or more than
// FIN_LINKED_MOST, -ENOMEM, or -ECANCELED if nothing was begun. Blocking.
//
//     struct fin_step s[] = {fin_step_pwrite(fd, p, n, 0), fin_step_fsync(fd), fin_step_close(fd)};
//     if (fin_linked(s, 3) != 3)
FIN_BLOCKING int fin_linked(struct fin_step *steps, unsigned count);
FIN_BLOCKING int fin_linked_nc(struct fin_step *steps, unsigned count);

// Fill in a step. Do not block.
struct fin_step fin_step_read(int fd, void *buffer, size_t size);
struct fin_step fin_step_write(int fd, const void *data, size_t size);
struct fin_step fin_step_pread(int fd, void *buffer, size_t size, off_t offset);
struct fin_step fin_step_pwrite(int fd, const void *data, size_t size, off_t offset);
struct fin_step fin_step_connect(int fd, const struct sockaddr *address, socklen_t size);
struct fin_step fin_step_send(int fd, const void *data, size_t size, int flags);
struct fin_step fin_step_recv(int fd, void *buffer, size_t size, int flags);
struct fin_step fin_step_fsync(int fd);
struct fin_step fin_step_close(int fd);

#ifdef __cplusplus
}
#endif
#endif

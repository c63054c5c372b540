// SPDX-License-Identifier: BSD-2-Clause
// Callbacks on io_uring, as one writes them by hand: a completion names an operation, and that a function.
#ifndef FIN_RIVAL_URING_H
#define FIN_RIVAL_URING_H

#include <liburing.h>

#include "../rival.h"

struct operation {
    void (*done)(struct operation *o, int result, unsigned flags);
};

extern struct io_uring ring;

void uring_begin(void);
// These complete with o->done.
void uring_recv(struct operation *o, int fd, void *buffer, size_t size);
void uring_send(struct operation *o, int fd, const void *data, size_t size);
void uring_pread(struct operation *o, int fd, void *buffer, size_t size, off_t offset);
// The same with files and memory that are registered: fd is the number of a file in their order.
void uring_register(const int *fds, unsigned count, void *memory, size_t size);
void uring_pread_fixed(struct operation *o, int fd, void *buffer, size_t size, off_t offset);
// Waits, until ns are over at the latest where they are not negative, and runs the callbacks of what has completed.
void uring_run(int64_t ns);
// Calls accepted(fd) for every connection to come.
void uring_accept(int listener, void (*accepted)(int fd));

void quotes(int listener), hello(int listener), echo(int listener);
int reads(int argc, char **argv);

#endif

// SPDX-License-Identifier: BSD-2-Clause
// What spares the kernel work on each operation: files and memory that it knows beforehand, and sending without a copy. If
// the kernel offers none of that, the same calls do the plain operation.
//
// Registrations belong to the thread that made them, and end with it. The child of a fork has none: the numbers are
// -EBADF there, and memory is another thread's (-EXDEV).
#ifndef FIN_FIXED_H
#define FIN_FIXED_H

#include <fin/io.h>

#ifdef __cplusplus
extern "C" {
#endif

// Registers fd. The result is a number that stands for fd on this thread, in the calls of fin/io.h and fin/linked.h that
// read, write, send, receive, accept, connect, poll or sync; anywhere else, and once unregistered, the number is -EBADF
// (until the process has registered a million more: then it may be another's). fd must stay open until then.
// Returns -EBADF, -ENOMEM, -ENFILE if 1024 are registered, or the error of getting what the thread needs to wait. Does not
// block.
int fin_file_register(int fd);

// Ends the registration. Operations that have begun go on; until they end it counts as one of the 1024. Returns 0 or -EBADF.
// Does not block.
int fin_file_unregister(int file);

// Registers memory for fin_pread_fixed and fin_pwrite_fixed; it must stay valid until it is unregistered. Returns 0, -EINVAL
// for no memory, -ENOMEM, or as fin_file_register. Does not block.
struct fin_memory;
int fin_memory_register(struct fin_memory **out, void *memory, size_t size);

// Ends the registration. Returns 0; -EBUSY while calls use it; -EXDEV on another thread. Does not block.
int fin_memory_unregister(struct fin_memory *m);

// As fin_pread and fin_pwrite, with a buffer that lies in m; -EINVAL if it does not, -EXDEV on another thread. Blocking.
FIN_BLOCKING ssize_t fin_pread_fixed(int fd, struct fin_memory *m, void *buffer, size_t size, off_t offset);
FIN_BLOCKING ssize_t fin_pread_fixed_nc(int fd, struct fin_memory *m, void *buffer, size_t size, off_t offset);
FIN_BLOCKING ssize_t fin_pwrite_fixed(int fd, struct fin_memory *m, const void *data, size_t size, off_t offset);
FIN_BLOCKING ssize_t fin_pwrite_fixed_nc(int fd, struct fin_memory *m, const void *data, size_t size, off_t offset);

// As fin_send, without a copy of the data if the socket can do that (TCP, UDP): the kernel sends from the buffer, and the
// call returns when the kernel needs the buffer no more. With TCP that is when the peer has acknowledged all, which may take
// as long as the peer likes; once the kernel has taken over data the call is not cancelled any more, and a thread that ends
// in the middle of it waits for that, too. Worth it from about 10 KB, as the kernel says of MSG_ZEROCOPY. Blocking.
FIN_BLOCKING ssize_t fin_send_zc(int fd, const void *data, size_t size, int flags);
FIN_BLOCKING ssize_t fin_send_zc_nc(int fd, const void *data, size_t size, int flags);
FIN_BLOCKING ssize_t fin_sendmsg_zc(int fd, const struct msghdr *message, int flags);
FIN_BLOCKING ssize_t fin_sendmsg_zc_nc(int fd, const struct msghdr *message, int flags);

#ifdef __cplusplus
}
#endif
#endif

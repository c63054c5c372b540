// SPDX-License-Identifier: BSD-2-Clause
// Calls with a continuation that are one request, as those of file.c and socket.c are: all but the most frequent ones, which
// are in on.c.
#define _GNU_SOURCE // O_LARGEFILE
#include <fin/on.h>

#include <fcntl.h>
#include <limits.h>

#include "core/cont.h"
#include "io/io.h"

int fin_on_invalid(fin_cont *cont, const void *state, size_t size) {
    int error = fin_cont_may_wait(cont, state, size);
    return error ? error : fin_cont_call(cont, state, size, -EINVAL);
}

#define ON_IF(bad, name, parameters, ...)                                                                                   \
    int name parameters {                                                                                                   \
        const struct call c = {__VA_ARGS__};                                                                                \
        return (bad) ? fin_on_invalid(cont, state, size) : fin_on_call(on, &c, cont, state, size);                          \
    }
#define ON(name, parameters, ...) ON_IF(false, name, parameters, __VA_ARGS__)
#define REST fin_cont *cont, const void *state, size_t size

// clang-format off
ON(fin_poll_on, (struct fin_on *on, int fd, int events, REST), .op = IORING_OP_POLL_ADD, .fd = fd, .flags = (uint16_t)events)
ON(fin_accept_on, (struct fin_on *on, int fd, int flags, REST), .op = IORING_OP_ACCEPT, .fd = fd, .flags = (uint32_t)flags)

#define VECTORS .fd = fd, .addr = v, .len = (uint32_t)n, .off = UINT64_MAX
#define BAD_VECTORS (n < 0 || n > IOV_MAX)
ON_IF(BAD_VECTORS, fin_readv_on, (struct fin_on *on, int fd, const struct iovec *v, int n, REST),
      .op = IORING_OP_READV, VECTORS)
ON_IF(BAD_VECTORS, fin_writev_on, (struct fin_on *on, int fd, const struct iovec *v, int n, REST),
      .op = IORING_OP_WRITEV, VECTORS)

ON(fin_openat_on, (struct fin_on *on, int dir, const char *path, int flags, mode_t mode, REST),
   .op = IORING_OP_OPENAT, .fd = dir, .addr = path, .len = mode, .flags = (uint32_t)flags | O_LARGEFILE)
ON(fin_statx_on, (struct fin_on *on, int dir, const char *path, int flags, unsigned mask, struct statx *out, REST),
   .op = IORING_OP_STATX, .fd = dir, .addr = fin_io_path(path, flags), .len = mask, .off = (uint64_t)(uintptr_t)out,
   .flags = (uint32_t)flags)
ON(fin_fsync_on, (struct fin_on *on, int fd, REST), .op = IORING_OP_FSYNC, .fd = fd)
ON(fin_fdatasync_on, (struct fin_on *on, int fd, REST),
   .op = IORING_OP_FSYNC, .fd = fd, .flags = IORING_FSYNC_DATASYNC)
// clang-format on

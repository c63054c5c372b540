// SPDX-License-Identifier: BSD-2-Clause
// A write at a file's position that ends before its end, because the device is full or the file large enough: kernels from
// 6.1 on try the rest again, and when that fails leave the position where it was, so that the next write goes over the same
// place.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "file_limit.h"
#include "io/fixed.h"
#include "io/uring.h"

enum { UNKNOWN, LEFT, MOVED };
enum { PAGE = 4096 };

// Asks the kernel: two pages into a file that cannot have more than one. Is the position left where it was? UNKNOWN: there
// are no descriptors, or no memory, now.
static int ask(void) {
    static const char data[2 * PAGE];
    struct io_uring ring;
    struct io_uring_params plain = {0};
    struct io_uring_cqe *done;
    int fd = fin_file_limit(PAGE) == 0 ? memfd_create("fin-position", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
    int known = UNKNOWN;
    if (fd < 0)
        return UNKNOWN;
    if (ftruncate(fd, PAGE) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) == 0 && fin_uring_map(&ring, 2, &plain) == 0) {
        io_uring_prep_write(io_uring_get_sqe(&ring), fd, data, sizeof data, UINT64_MAX);
        if (io_uring_submit_and_wait(&ring, 1) == 1 && io_uring_peek_cqe(&ring, &done) == 0 && done->res > 0)
            known = lseek(fd, 0, SEEK_CUR) == 0 ? LEFT : MOVED;
        fin_uring_unmap(&ring);
    }
    close(fd);
    return known;
}

static size_t wanted(const struct call *c) {
    const struct iovec *v = c->addr;
    size_t sum = 0;
    if (c->op == IORING_OP_WRITE)
        return c->len;
    for (uint32_t i = 0; i < c->len; i++)
        sum += v[i].iov_len;
    return sum;
}

static bool of_file(int fd) {
    struct stat s;
    return fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && !(fcntl(fd, F_GETFL) & O_APPEND);
}

static int kept(const struct io *io) {
    static int known; // threads that come first at once may both ask
    int now = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (now == UNKNOWN && (now = ask()) != UNKNOWN)
        __atomic_store_n(&known, now, __ATOMIC_RELAXED);
    return now != UNKNOWN ? now : io->can.leave_position ? LEFT : MOVED;
}

void fin_uring_short(const struct io *io, const struct call *c, int count) {
    bool write = c->op == IORING_OP_WRITE || c->op == IORING_OP_WRITEV;
    int fd = fin_descriptor(io, c);
    if (write && (size_t)count != wanted(c) && of_file(fd) && kept(io) == LEFT)
        lseek(fd, count, SEEK_CUR);
}

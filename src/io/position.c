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
#include "io/uring.h"

enum { UNKNOWN, LEFT, MOVED };
enum { PAGE = 4096 };

// Where it cannot be asked: kernels from 6.1 on know this flag.
static int guess(void) {
    struct io_uring ring;
    struct io_uring_params newer = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
    if (fin_uring_map(&ring, 2, &newer) != 0)
        return MOVED;
    fin_uring_unmap(&ring);
    return LEFT;
}

// Asks the kernel: two pages into a file that cannot have more than one. Is the position left where it was?
static int ask(void) {
    static const char data[2 * PAGE];
    struct io_uring ring;
    struct io_uring_params plain = {0};
    struct io_uring_cqe *done;
    int fd = fin_file_limit(PAGE) == 0 ? memfd_create("fin-position", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
    bool left = true;
    if (fd < 0)
        return guess();
    if (ftruncate(fd, PAGE) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) == 0 && fin_uring_map(&ring, 2, &plain) == 0) {
        io_uring_prep_write(io_uring_get_sqe(&ring), fd, data, sizeof data, UINT64_MAX);
        if (io_uring_submit_and_wait(&ring, 1) == 1 && io_uring_peek_cqe(&ring, &done) == 0 && done->res > 0)
            left = lseek(fd, 0, SEEK_CUR) == 0;
        fin_uring_unmap(&ring);
    }
    close(fd);
    return left ? LEFT : MOVED;
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

void fin_uring_short(const struct call *c, int count) {
    static int known; // threads that come first at once may both ask
    bool write = c->op == IORING_OP_WRITE || c->op == IORING_OP_WRITEV;
    if (!write || (size_t)count == wanted(c) || !of_file(c->fd))
        return;
    int now = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (now == UNKNOWN)
        __atomic_store_n(&known, now = ask(), __ATOMIC_RELAXED);
    if (now == LEFT)
        lseek(c->fd, count, SEEK_CUR);
}

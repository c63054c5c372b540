// SPDX-License-Identifier: BSD-2-Clause
// Files: made, written in several ways, read back, spliced, looked at, removed; also by number and from registered memory.
#define _GNU_SOURCE
#include <fcntl.h>
#include <fin/fixed.h>
#include <fin/linked.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "fault.h"

enum { SIZE = 5000 };

static char path[64];

// What was written is there, as far as the call said.
static void written(int fd, const char *data, ssize_t n, off_t at) {
    char back[SIZE];
    if (!fine(n))
        return;
    ssize_t m = fin_pread(fd, back, (size_t)n, at);
    if (fine(m)) {
        CHECK_EQ(m, n);
        CHECK(memcmp(back, data, (size_t)n) == 0);
    }
}

static void in_many_ways(int fd, const char *data) {
    struct iovec v[2] = {{(void *)data, 100}, {(void *)(data + 100), SIZE - 100}};
    struct statx s;
    written(fd, data, fin_pwrite(fd, data, SIZE, 0), 0);
    written(fd, data, fin_pwritev(fd, v, 2, 3), 3);
    written(fd, data, fin_write(fd, data, 100), 0);
    fine(fin_fallocate(fd, 0, 0, 2 * SIZE));
    fine(fin_fsync(fd));
    if (fine(fin_ftruncate(fd, SIZE)) && fine(fin_statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &s)))
        CHECK_EQ(s.stx_size, SIZE);
}

static void registered(int fd, char *data) {
    struct fin_memory *m;
    if (!fine(fin_memory_register(&m, data, SIZE)))
        return;
    int file = fin_file_register(fd);
    if (fine(file)) {
        written(fd, data, fin_pwrite_fixed(file, m, data, 200, 10), 10);
        fine(fin_pread_fixed(file, m, data, 200, 10));
        fine(fin_read(file, data, 10));
        CHECK_EQ(fin_file_unregister(file), 0);
    }
    CHECK_EQ(fin_memory_unregister(m), 0);
}

static void chained(int fd, const char *data) {
    struct fin_step steps[] = {fin_step_pwrite(fd, data, 300, 20), fin_step_fsync(fd)};
    int r = fin_linked(steps, 2);
    if (fine(r))
        written(fd, data, steps[0].result, 20);
}

static void spliced(int fd) {
    int p[2];
    off_t from = 0;
    if (!fine_errno(pipe2(p, O_CLOEXEC)))
        return;
    ssize_t n = fin_splice(fd, &from, p[1], NULL, 1000, 0);
    if (fine(n)) {
        char back[1000];
        CHECK_EQ(from, n);
        ssize_t m = fin_read(p[0], back, sizeof back);
        CHECK(!fine(m) || m == n);
    }
    close(p[0]);
    close(p[1]);
}

const int threads = 0;
void (*const prepare)(void) = NULL;

void scenario(void) {
    char data[SIZE];
    for (int i = 0; i < SIZE; i++)
        data[i] = (char)(i * 3);
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; // where fsync takes no time
    snprintf(path, sizeof path, "%s/fin-fault-%d", folder, (int)getpid());
    int fd = fin_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fine(fd)) {
        in_many_ways(fd, data);
        registered(fd, data);
        chained(fd, data);
        spliced(fd);
        if (!fine(fin_close(fd)))
            close_again(fd);
        fd = fin_open(path, O_RDONLY | O_CLOEXEC, 0);
        if (fine(fd))
            close(fd);
    }
    if (access(path, F_OK) == 0 && !fine(fin_unlink(path)))
        unlink(path);
    CHECK(access(path, F_OK) != 0);
}

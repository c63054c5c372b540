// SPDX-License-Identifier: BSD-2-Clause
// Files: open, write, read at positions and at the file's own, sync, stat, close; end of file; the errors of the system
// calls.
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

enum { BLOCK = 8192, BLOCKS = 40 };

static char data[BLOCK * BLOCKS], back[BLOCK * BLOCKS];
static int fd;

static void write_block(void *arg) {
    char *p = arg;
    CHECK_EQ(fin_pwrite(fd, p, BLOCK, p - data), BLOCK);
}

static void read_block(void *arg) {
    char *p = arg;
    CHECK_EQ(fin_pread(fd, p, BLOCK, p - back), BLOCK);
}

static void errors(const char *path) {
    char byte;
    CHECK_EQ(fin_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, 0600), -EEXIST);
    CHECK_EQ(fin_openat(AT_FDCWD, "/nowhere/at/all", O_RDONLY, 0), -ENOENT);
    CHECK_EQ(fin_pread(fd, &byte, 1, -1), -EINVAL);
    CHECK_EQ(fin_pwrite(fd, &byte, 1, -5), -EINVAL);
    CHECK_EQ(fin_read(-1, &byte, 1), -EBADF);
    CHECK_EQ(fin_write(-1, &byte, 1), -EBADF);
    CHECK_EQ(fin_close(-1), -EBADF);
    CHECK_EQ(fin_fsync(-1), -EBADF);
    int dir = fin_openat(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0);
    CHECK(dir >= 0);
    CHECK_EQ(fin_read(dir, &byte, 1), -EISDIR);
    CHECK_EQ(fin_close(dir), 0);
}

int main(void) {
    char path[] = "/tmp/fin-files-XXXXXX";
    int first = mkstemp(path);
    CHECK(first >= 0);
    CHECK_EQ(fin_close(first), 0);
    CHECK_EQ(fin_close(first), -EBADF);
    fd = fin_openat(AT_FDCWD, path, O_RDWR, 0);
    CHECK(fd >= 0);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7 + i / 256);
    fin_finish {
        for (int i = 0; i < BLOCKS; i++)
            fin_async_call(write_block, data + i * BLOCK);
    }
    CHECK_EQ(fin_fsync(fd), 0);
    struct statx s;
    CHECK_EQ(fin_statx(AT_FDCWD, path, 0, STATX_SIZE, &s), 0);
    CHECK_EQ(s.stx_size, sizeof data);
    CHECK_EQ(fin_statx(fd, NULL, AT_EMPTY_PATH, STATX_SIZE, &s), 0);
    CHECK_EQ(fin_statx(AT_FDCWD, "/nowhere/at/all", 0, STATX_SIZE, &s), -ENOENT);
    fin_finish {
        for (int i = 0; i < BLOCKS; i++)
            fin_async_call(read_block, back + i * BLOCK);
    }
    CHECK(memcmp(data, back, sizeof data) == 0);
    CHECK_EQ(fin_pread(fd, back, sizeof back, sizeof data - 3), 3);
    CHECK_EQ(fin_pread(fd, back, sizeof back, sizeof data), 0);
    CHECK_EQ(fin_write(fd, "head", 4), 4);
    CHECK_EQ(fin_read(fd, back, 2), 2);
    CHECK(back[0] == data[4] && back[1] == data[5]);
    errors(path);
    CHECK_EQ(fin_close(fd), 0);
    unlink(path);
    return 0;
}

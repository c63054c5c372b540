// SPDX-License-Identifier: BSD-2-Clause
// Names: directories made and read, files linked, renamed, removed; and what changes a file without a transfer.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "net.h"

static int dir;

static off_t size_of(const char *name) {
    struct statx s;
    int r = fin_statx(dir, name, 0, STATX_SIZE, &s);
    return r < 0 ? r : (off_t)s.stx_size;
}

static void links(void) {
    char text[32];
    CHECK_EQ(fin_linkat(dir, "a", dir, "b", 0), 0);
    CHECK_EQ(fin_linkat(dir, "a", dir, "b", 0), -EEXIST);
    CHECK_EQ(fin_linkat(dir, "none", dir, "c", 0), -ENOENT);
    CHECK_EQ(fin_symlinkat("target", dir, "s"), 0);
    CHECK_EQ(fin_symlinkat("target", dir, "s"), -EEXIST);
    CHECK_EQ(fin_readlinkat(dir, "s", text, sizeof text), 6);
    CHECK(memcmp(text, "target", 6) == 0);
    CHECK_EQ(fin_readlinkat(dir, "s", text, 3), 3);
    CHECK_EQ(fin_readlinkat(dir, "a", text, 3), -EINVAL);
    CHECK_EQ(fin_readlinkat_nc(dir, "none", text, 3), -ENOENT);
}

static void renames(void) {
    CHECK_EQ(fin_renameat2(dir, "b", dir, "c", 0), 0);
    CHECK_EQ(size_of("b"), -ENOENT);
    CHECK_EQ(fin_renameat2(dir, "a", dir, "c", RENAME_NOREPLACE), -EEXIST);
    CHECK_EQ(fin_renameat2(dir, "none", dir, "c", 0), -ENOENT);
}

static int entries(void) {
    static char buffer[1024] __attribute__((aligned(8)));
    ssize_t n;
    int count = 0, fd = fin_openat(dir, ".", O_RDONLY | O_DIRECTORY, 0);
    CHECK(fd >= 0);
    while ((n = fin_getdents64(fd, buffer, sizeof buffer)) > 0)
        for (ssize_t at = 0; at < n; count++)
            at += ((struct dirent64 *)(void *)(buffer + at))->d_reclen;
    CHECK_EQ(n, 0);
    CHECK_EQ(fin_getdents64(fd, buffer, 1), 0); // at the end
    CHECK_EQ(fin_close(fd), 0);
    return count;
}

static void sizes(int fd) {
    CHECK_EQ(fin_ftruncate(fd, 10000), 0);
    CHECK_EQ(size_of("a"), 10000);
    CHECK_EQ(fin_ftruncate_nc(fd, 5), 0);
    CHECK_EQ(size_of("a"), 5);
    CHECK_EQ(fin_ftruncate(fd, -1), -EINVAL);
    int r = fin_fallocate(fd, 0, 0, 20000);
    CHECK(r == 0 || r == -EOPNOTSUPP);
    if (r == 0)
        CHECK_EQ(size_of("a"), 20000);
    CHECK_EQ(fin_fallocate(fd, 0, 0, -1), -EINVAL);
    CHECK_EQ(fin_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL), 0);
    CHECK_EQ(fin_fadvise(fd, 0, (off_t)1 << 33, POSIX_FADV_WILLNEED), 0);
    CHECK_EQ(fin_fadvise(fd, 0, 0, 77), -EINVAL);
    CHECK_EQ(fin_fdatasync(fd), 0);
    CHECK_EQ(fin_fsync_nc(fd), 0);
    CHECK_EQ(fin_sync_file_range(fd, 0, 4096, SYNC_FILE_RANGE_WRITE), 0);
    CHECK_EQ(fin_sync_file_range(fd, 0, (off_t)1 << 33, SYNC_FILE_RANGE_WRITE), 0);
    CHECK_EQ(fin_sync_file_range(fd, -1, 1, SYNC_FILE_RANGE_WRITE), -EINVAL);
    CHECK_EQ(fin_sync_file_range(fd, 0, 1, 1u << 20), -EINVAL);
}

static void absolute(const char *path) {
    char from[64], to[64];
    snprintf(from, sizeof from, "%s/from", path);
    snprintf(to, sizeof to, "%s/to", path);
    int fd = fin_open(from, O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(fin_close(fd), 0);
    CHECK_EQ(fin_rename(from, to), 0);
    CHECK_EQ(fin_unlink(from), -ENOENT);
    CHECK_EQ(fin_unlink(to), 0);
    CHECK_EQ(fin_mkdir(to, 0700), 0);
    CHECK_EQ(fin_unlink(to), -EISDIR);
    CHECK_EQ(fin_unlinkat(AT_FDCWD, to, AT_REMOVEDIR), 0);
}

// In a block that is cancelled nothing is changed.
static void cancelled(void) {
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_mkdirat(dir, "never", 0700), -ECANCELED);
        CHECK_EQ(fin_unlinkat(dir, "a", 0), -ECANCELED);
        CHECK_EQ(fin_renameat2(dir, "a", dir, "never", 0), -ECANCELED);
        CHECK_EQ(fin_openat(dir, "never", O_CREAT | O_WRONLY, 0600), -ECANCELED);
        CHECK_EQ(fin_mkdirat_nc(dir, "shielded", 0700), 0);
    }
    CHECK_EQ(size_of("never"), -ENOENT);
    CHECK(size_of("a") >= 0);
    CHECK_EQ(fin_unlinkat(dir, "shielded", AT_REMOVEDIR), 0);
}

int main(void) {
    char path[] = "/tmp/fin-names-XXXXXX";
    CHECK(mkdtemp(path) != NULL);
    dir = fin_open(path, O_RDONLY | O_DIRECTORY, 0);
    CHECK(dir >= 0);
    CHECK_EQ(fin_mkdirat(dir, "sub", 0700), 0);
    CHECK_EQ(fin_mkdirat(dir, "sub", 0700), -EEXIST);
    int fd = fin_openat(dir, "a", O_CREAT | O_EXCL | O_RDWR, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(fin_write(fd, "12345", 5), 5);
    links();
    renames();
    CHECK_EQ(entries(), 2 + 4); // a, c, s, sub
    sizes(fd);
    absolute(path);
    cancelled();
    CHECK_EQ(fin_unlinkat(dir, "sub", 0), -EISDIR);
    CHECK_EQ(fin_unlinkat(dir, "sub", AT_REMOVEDIR), 0);
    CHECK_EQ(fin_unlinkat(dir, "a", 0), 0);
    CHECK_EQ(fin_unlinkat(dir, "c", 0), 0);
    CHECK_EQ(fin_unlinkat(dir, "s", 0), 0);
    CHECK_EQ(entries(), 2);
    CHECK_EQ(fin_close(fd), 0);
    CHECK_EQ(fin_close(dir), 0);
    CHECK_EQ(fin_unlinkat(AT_FDCWD, path, AT_REMOVEDIR), 0);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Files: made, written in several ways, read back, spliced, looked at, removed; also by number and from registered
// memory; and folders.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <fin/fixed.h>
#include <fin/linked.h>
#include <fin/xattr.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
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
    fine(fin_fdatasync(fd));
    fine(fin_sync_file_range(fd, 0, SIZE, SYNC_FILE_RANGE_WRITE));
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

static void doubled(int pipe, ssize_t n) {
    int p[2];
    if (!fine_errno(pipe2(p, O_CLOEXEC)))
        return;
    ssize_t m = fin_tee(pipe, p[1], (size_t)n, 0);
    CHECK(!fine(m) || m == n);
    close(p[0]);
    close(p[1]);
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
        doubled(p[0], n);
        ssize_t m = fin_read(p[0], back, sizeof back);
        CHECK(!fine(m) || m == n);
    }
    close(p[0]);
    close(p[1]);
}

long __real_syscall(long number, ...) __attribute__((weak)); // where this program has it wrapped

// qemu-user has no openat2.
static void open_restricted(void) {
    const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    long (*call)(long number, ...) = __real_syscall ? __real_syscall : syscall;
    if (call(SYS_openat2, -1, NULL, NULL, 0L) < 0 && errno == ENOSYS)
        return;
    int fd = fin_openat2(AT_FDCWD, path, &how, sizeof how);
    if (fine(fd))
        close(fd);
}

// Not every file system has attributes of users.
static void attribute(ssize_t r) {
    if (r != -EOPNOTSUPP)
        fine(r);
}

static void attributes(int fd) {
    static const char name[] = "user.fin";
    char text[64];
    attribute(fin_setxattr(path, name, "a", 1, 0));
    attribute(fin_lsetxattr(path, name, "b", 1, 0));
    attribute(fin_fsetxattr(fd, name, "c", 1, 0));
    attribute(fin_getxattr(path, name, text, sizeof text));
    attribute(fin_lgetxattr(path, name, text, sizeof text));
    attribute(fin_fgetxattr(fd, name, text, sizeof text));
    attribute(fin_listxattr(path, text, sizeof text));
    attribute(fin_llistxattr(path, text, sizeof text));
    attribute(fin_flistxattr(fd, text, sizeof text));
    attribute(fin_removexattr(path, name));
    attribute(fin_setxattr(path, name, "a", 1, 0));
    attribute(fin_lremovexattr(path, name));
    attribute(fin_setxattr(path, name, "a", 1, 0));
    attribute(fin_fremovexattr(fd, name));
}

static void described(int fd) {
    struct statfs s;
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 2}};
    fine(fin_fchmodat(AT_FDCWD, path, 0600, 0));
    fine(fin_fchownat(AT_FDCWD, path, (uid_t)-1, (gid_t)-1, 0));
    fine(fin_utimensat(AT_FDCWD, path, times, 0));
    fine(fin_faccessat(AT_FDCWD, path, R_OK, 0));
    fine(fin_statfs(path, &s));
    fine(fin_fstatfs(fd, &s));
    fine(fin_syncfs(fd));
}

static void mapped(int fd) {
    void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!fine_errno(p == MAP_FAILED ? -1 : 0))
        return;
    fine(fin_madvise(p, SIZE, MADV_WILLNEED));
    fine(fin_msync(p, SIZE, MS_SYNC));
    munmap(p, SIZE);
}

static void copied(int fd) {
    off_t from = 0, to = SIZE / 2;
    ssize_t n = fin_copy_file_range(fd, &from, fd, &to, SIZE / 2, 0);
    CHECK(!fine(n) || (from == n && to == SIZE / 2 + n));
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (!fine_errno(null))
        return;
    n = fin_sendfile(null, fd, &from, 100);
    CHECK(!fine(n) || n <= 100);
    close(null);
}

static void listed(const char *folder) {
    char text[500];
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!fine_errno(fd))
        return;
    CHECK(fine(fin_getdents64(fd, text, sizeof text)) || spoiled());
    close(fd);
}

static void in_folder(const char *above) {
    char folder[64], a[80], b[80], text[16];
    snprintf(folder, sizeof folder, "%s/fin-fault-folder-%d", above, (int)getpid());
    snprintf(a, sizeof a, "%s/a", folder);
    snprintf(b, sizeof b, "%s/b", folder);
    if (!fine(fin_mkdir(folder, 0700)))
        return;
    if (fine(fin_symlinkat("nowhere", AT_FDCWD, a))) {
        ssize_t n = fin_readlinkat(AT_FDCWD, a, text, sizeof text);
        CHECK(!fine(n) || n == 7);
        fine(fin_linkat(AT_FDCWD, a, AT_FDCWD, b, 0));
        listed(folder);
        fine(fin_rename(a, b));
    }
    unlink(b);
    fine(fin_mknodat(AT_FDCWD, b, S_IFIFO | 0600, 0));
    unlink(a);
    unlink(b);
    if (!fine(fin_unlinkat(AT_FDCWD, folder, AT_REMOVEDIR)))
        rmdir(folder);
    CHECK(access(folder, F_OK) != 0);
}

const int threads = 0;
void (*const prepare)(void) = NULL;

static void counted(void) {
    uint64_t n = 1;
    int fd = eventfd(0, EFD_CLOEXEC);
    if (!fine_errno(fd))
        return;
    if (fine(fin_write(fd, &n, sizeof n)))
        fine(fin_read(fd, &n, sizeof n));
    close(fd);
}

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
        copied(fd);
        described(fd);
        attributes(fd);
        mapped(fd);
        if (!fine(fin_close(fd)))
            close_again(fd);
        open_restricted();
    }
    if (access(path, F_OK) == 0 && !fine(fin_unlink(path)))
        unlink(path);
    CHECK(access(path, F_OK) != 0);
    in_folder(folder);
    counted();
}

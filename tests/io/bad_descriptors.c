// SPDX-License-Identifier: BSD-2-Clause
// Every operation on descriptors that are no descriptor, are closed, or are of the wrong kind: the error of the system call,
// at once, in both functions of each.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>

#include "net.h"

static char c[64];
static struct iovec v = {c, sizeof c};
static struct sockaddr_in address = {.sin_family = AF_INET};
static socklen_t size;
static struct statx info;
static struct statfs system_info;
static int good[2]; // a pipe

static struct msghdr *message(void) {
    static struct msghdr m;
    m = (struct msghdr){.msg_iov = &v, .msg_iovlen = 1};
    return &m;
}

#define ADDRESS (struct sockaddr *)&address
#define OPERATION(name, ...)                                                                                                \
    static long try_##name(int fd) { return fin_##name(__VA_ARGS__); }                                                      \
    static long try_##name##_nc(int fd) { return fin_##name##_nc(__VA_ARGS__); }
#define OPERATIONS(X)                                                                                                       \
    X(read, fd, c, 1) X(write, fd, c, 1) X(pread, fd, c, 1, 0) X(pwrite, fd, c, 1, 0) X(readv, fd, &v, 1)                   \
    X(writev, fd, &v, 1) X(preadv, fd, &v, 1, 0) X(pwritev, fd, &v, 1, 0) X(preadv2, fd, &v, 1, -1, 0)                      \
    X(pwritev2, fd, &v, 1, -1, 0) X(read_all, fd, c, 1, NULL) X(write_all, fd, c, 1, NULL)                                  \
    X(splice, fd, NULL, good[1], NULL, 1, 0) X(tee, fd, good[1], 1, 0) X(poll, fd, POLLIN) X(close, fd) X(fsync, fd)        \
    X(fdatasync, fd) X(sync_file_range, fd, 0, 1, 0) X(fallocate, fd, 0, 0, 1) X(ftruncate, fd, 1) X(fadvise, fd, 0, 1, 0)  \
    X(getdents64, fd, c, sizeof c) X(openat, fd, "f", O_RDONLY, 0) X(statx, fd, "f", 0, STATX_SIZE, &info)                  \
    X(renameat2, fd, "f", fd, "g", 0) X(linkat, fd, "f", fd, "g", 0) X(symlinkat, "f", fd, "g") X(unlinkat, fd, "f", 0)     \
    X(mkdirat, fd, "f", 0700) X(readlinkat, fd, "f", c, sizeof c)                                                           \
    X(fchmodat, fd, "f", 0600, 0) X(fchownat, fd, "f", 1, 1, 0) X(utimensat, fd, "f", NULL, 0) X(faccessat, fd, "f", 0, 0)  \
    X(mknodat, fd, "f", S_IFIFO, 0) X(fstatfs, fd, &system_info) X(syncfs, fd) X(copy_file_range, fd, NULL, fd, NULL, 1, 0) \
    X(fgetxattr, fd, "user.a", c, 1) X(fsetxattr, fd, "user.a", c, 1, 0) X(flistxattr, fd, c, 1)                            \
    X(fremovexattr, fd, "user.a") X(sendfile, good[1], fd, NULL, 1)                                                         \
    X(accept, fd, NULL, NULL) X(accept4, fd, NULL, NULL, 0) X(connect, fd, ADDRESS, sizeof address) X(send, fd, c, 1, 0)    \
    X(recv, fd, c, 1, 0) X(sendto, fd, c, 1, 0, ADDRESS, sizeof address) X(recvfrom, fd, c, 1, 0, NULL, &size)              \
    X(sendmsg, fd, message(), 0) X(recvmsg, fd, message(), 0) X(send_all, fd, c, 1, 0, NULL)                                \
    X(recv_all, fd, c, 1, 0, NULL) X(shutdown, fd, SHUT_RD)
OPERATIONS(OPERATION)

#define ROW(name, ...) {#name, try_##name}, {#name "_nc", try_##name##_nc},
static struct {
    const char *name;
    long (*make)(int fd);
} table[] = {OPERATIONS(ROW)};
enum { ROWS = sizeof table / sizeof *table };

static bool failed;
static void expect(int i, const char *kind, long result, long expected) {
    if (result == expected)
        return;
    fprintf(stderr, "%s on %s: %ld, not %ld\n", table[i].name, kind, result, expected);
    failed = true;
}

static bool of_sockets(const char *name) {
    return !strncmp(name, "accept", 6) || !strncmp(name, "connect", 7) || !strncmp(name, "recv", 4) ||
           (!strncmp(name, "send", 4) && strncmp(name, "sendfile", 8) != 0) || !strncmp(name, "shutdown", 8);
}

static bool of_directories(const char *name) {
    static const char *const names[] = {"openat",    "statx",   "renameat2",  "linkat",     "symlinkat",
                                        "unlinkat",  "mkdirat", "readlinkat", "getdents64", "fchmodat",
                                        "fchownat",  "mknodat", "utimensat",  "faccessat"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return true;
    return false;
}

static void no_descriptor(void) {
    CHECK_EQ(fin_sleep(1), 0); // makes what the thread waits with
    int closed = dup(0);
    close(closed);
    for (int i = 0; i < ROWS; i++) {
        expect(i, "-1", table[i].make(-1), -EBADF);
        expect(i, "a closed one", table[i].make(closed), -EBADF);
        expect(i, "a number that none has", table[i].make(1 << 29), -EBADF);
    }
}

static void wrong_kind(void) {
    int file = open("/proc/self/exe", O_RDONLY), path = open("/", O_PATH);
    CHECK(file >= 0 && path >= 0);
    for (int i = 0; i < ROWS; i++) {
        const char *name = table[i].name;
        if (of_sockets(name))
            expect(i, "a file", table[i].make(file), -ENOTSOCK);
        else if (of_directories(name))
            expect(i, "a file", table[i].make(file), -ENOTDIR);
        else if (strncmp(name, "close", 5) != 0 && strncmp(name, "fstatfs", 7) != 0)
            expect(i, "a path", table[i].make(path), -EBADF);
    }
    CHECK_EQ(fin_read_nc(good[1], c, 1), -EBADF);
    CHECK_EQ(fin_write_nc(good[0], c, 1), -EBADF);
    CHECK_EQ(fin_readv(good[1], &v, 1), -EBADF);
    CHECK_EQ(fin_writev(good[0], &v, 1), -EBADF);
    CHECK_EQ(fin_write(file, c, 1), -EBADF);
    CHECK_EQ(fin_pwritev(file, &v, 1, 0), -EBADF);
    CHECK_EQ(fin_ftruncate(file, 1), -EINVAL);
    CHECK_EQ(fin_splice(good[0], NULL, -1, NULL, 1, 0), -EBADF);
    CHECK_EQ(fin_tee(good[0], file, 1, 0), -EBADF);
    CHECK_EQ(fin_splice(file, NULL, file, NULL, 1, 0), -EBADF); // not open for writing
    off_t at = -1, zero = 0, behind = 1 << 30;
    CHECK_EQ(fin_splice(file, &at, good[1], NULL, 1, 0), -EINVAL);
    CHECK_EQ(fin_sendfile(good[1], file, &at, 1), -EINVAL);
    CHECK_EQ(fin_copy_file_range(file, &at, file, NULL, 1, 0), -EBADF); // not open for writing
    CHECK_EQ(fin_sendfile(-1, file, NULL, 1), -EBADF);
    CHECK_EQ(fin_sendfile(-1, file, NULL, 0), -EBADF);
    CHECK_EQ(fin_sendfile(good[1], -1, &zero, 0), -EBADF);
    CHECK_EQ(fin_sendfile(good[1], path, &zero, 0), -EBADF);
    CHECK_EQ(fin_sendfile(file, file, NULL, 0), -EBADF);
    CHECK_EQ(fin_sendfile(file, file, NULL, 1), -EBADF); // not open for writing
    CHECK_EQ(fin_sendfile(-1, file, &behind, 1), -EBADF); // though there is nothing to send
    CHECK_EQ(fin_sendfile(file, file, &behind, 1), -EBADF);
    CHECK_EQ(fin_sendfile(good[1], file, &behind, 1), 0);
    CHECK_EQ(fin_sendfile(good[1], good[0], NULL, 1), -EINVAL);
    CHECK_EQ(lseek(file, 0, SEEK_CUR), 0);
    close(file);
    close(path);
}

int main(void) {
    CHECK_EQ(pipe(good), 0);
    no_descriptor();
    wrong_kind();
    return failed;
}

// SPDX-License-Identifier: BSD-2-Clause
// Buffers, names and the like where there is no memory: -EFAULT, as the system calls have it, and nothing was transferred.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>

#include "net.h"

static void *nowhere; // reserved, not accessible

static void on_file(int fd) {
    struct iovec v = {nowhere, 100}, two[2] = {{nowhere, 100}, {nowhere, 100}};
    CHECK_EQ(fin_read(fd, nowhere, 100), -EFAULT);
    CHECK_EQ(fin_write(fd, nowhere, 100), -EFAULT);
    CHECK_EQ(fin_pread(fd, nowhere, 100, 0), -EFAULT);
    CHECK_EQ(fin_pwrite(fd, nowhere, 100, 0), -EFAULT);
    CHECK_EQ(fin_preadv(fd, &v, 1, 0), -EFAULT);
    CHECK_EQ(fin_pwritev(fd, two, 2, 0), -EFAULT);
    CHECK_EQ(fin_readv(fd, nowhere, 2), -EFAULT);
    CHECK_EQ(fin_writev(fd, nowhere, 2), -EFAULT);
    CHECK_EQ(fin_preadv2(fd, nowhere, 2, 0, 0), -EFAULT);
    CHECK_EQ(fin_pwritev2(fd, nowhere, 2, 0, 0), -EFAULT);
    CHECK_EQ(fin_read_all(fd, nowhere, 100, NULL), -EFAULT);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 0);
}

static void names(void) {
    char text[8];
    struct statx s;
    struct statfs f;
    CHECK_EQ(fin_openat(AT_FDCWD, nowhere, O_RDONLY, 0), -EFAULT);
    CHECK_EQ(fin_statx(AT_FDCWD, nowhere, 0, STATX_SIZE, &s), -EFAULT);
    CHECK_EQ(fin_statx(AT_FDCWD, "/", 0, STATX_SIZE, nowhere), -EFAULT);
    CHECK_EQ(fin_rename(nowhere, "x"), -EFAULT);
    CHECK_EQ(fin_rename("/none-such", nowhere), -EFAULT);
    CHECK_EQ(fin_linkat(AT_FDCWD, nowhere, AT_FDCWD, "x", 0), -EFAULT);
    CHECK_EQ(fin_symlinkat(nowhere, AT_FDCWD, "x"), -EFAULT);
    CHECK_EQ(fin_unlink(nowhere), -EFAULT);
    CHECK_EQ(fin_mkdir(nowhere, 0700), -EFAULT);
    CHECK_EQ(fin_readlinkat(AT_FDCWD, nowhere, text, sizeof text), -EFAULT);
    CHECK_EQ(fin_readlinkat(AT_FDCWD, "/proc/self/exe", nowhere, 8), -EFAULT);
    CHECK_EQ(fin_fchmodat(AT_FDCWD, nowhere, 0600, 0), -EFAULT);
    CHECK_EQ(fin_fchownat(AT_FDCWD, nowhere, 1, 1, 0), -EFAULT);
    CHECK_EQ(fin_utimensat(AT_FDCWD, nowhere, NULL, 0), -EFAULT);
    CHECK_EQ(fin_utimensat(AT_FDCWD, "/", nowhere, 0), -EFAULT);
    CHECK_EQ(fin_faccessat(AT_FDCWD, nowhere, R_OK, 0), -EFAULT);
    CHECK_EQ(fin_mknodat(AT_FDCWD, nowhere, S_IFIFO | 0600, 0), -EFAULT);
    CHECK_EQ(fin_statfs(nowhere, &f), -EFAULT);
    CHECK_EQ(fin_statfs("/", nowhere), -EFAULT);
    CHECK_EQ(fin_getxattr(nowhere, "user.a", text, 8), -EFAULT);
    CHECK_EQ(fin_getxattr("/", nowhere, text, 8), -EFAULT);
    CHECK_EQ(fin_setxattr("/", nowhere, text, 8, 0), -EFAULT);
    CHECK_EQ(fin_listxattr(nowhere, text, 8), -EFAULT);
    CHECK_EQ(fin_removexattr(nowhere, "user.a"), -EFAULT);
    int dir = open("/", O_RDONLY | O_DIRECTORY);
    CHECK_EQ(fin_getdents64(dir, nowhere, 4096), -EFAULT);
    close(dir);
}

static void on_sockets(void) {
    int fd[2];
    char c;
    struct iovec v = {nowhere, 100};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1}, far = {.msg_iov = nowhere, .msg_iovlen = 1};
    stream_pair(fd);
    CHECK_EQ(fin_send(fd[0], nowhere, 100, 0), -EFAULT);
    CHECK_EQ(fin_write(fd[0], nowhere, 100), -EFAULT);
    CHECK_EQ(fin_writev(fd[0], nowhere, 1), -EFAULT);
    CHECK_EQ(fin_sendmsg(fd[0], &m, 0), -EFAULT);
    CHECK_EQ(fin_sendmsg(fd[0], &far, 0), -EFAULT);
    CHECK_EQ(fin_sendmsg(fd[0], nowhere, 0), -EFAULT);
    CHECK_EQ(fin_sendto(fd[0], "x", 1, 0, nowhere, sizeof(struct sockaddr_in)), -EFAULT);
    CHECK_EQ(fin_recvmsg(fd[0], NULL, 0), -EFAULT);
    CHECK_EQ(fin_recvmsg(fd[0], &far, 0), -EFAULT);
    CHECK_EQ(recv(fd[1], &c, 1, MSG_DONTWAIT), -1);
    CHECK_EQ(fin_connect(fd[0], nowhere, sizeof(struct sockaddr_in)), -EFAULT);
    CHECK_EQ(fin_readv(fd[0], nowhere, 1), -EFAULT);
    CHECK_EQ(write(fd[1], "abc", 3), 3);
    CHECK_EQ(fin_recv(fd[0], nowhere, 100, 0), -EFAULT);
    CHECK_EQ(fin_read(fd[0], nowhere, 100), -EFAULT);
    CHECK_EQ(fin_recvmsg(fd[0], &m, 0), -EFAULT);
    CHECK_EQ(fin_recv(fd[0], &c, 1, 0), 1);
    CHECK_EQ(c, 'a');
    close(fd[0]);
    close(fd[1]);
}

static void on_pipe(void) {
    int fd[2];
    char c;
    CHECK_EQ(pipe(fd), 0);
    CHECK_EQ(fin_write(fd[1], nowhere, 100), -EFAULT);
    CHECK_EQ(fin_writev(fd[1], nowhere, 1), -EFAULT);
    CHECK_EQ(write(fd[1], "a", 1), 1);
    CHECK_EQ(fin_read(fd[0], nowhere, 100), -EFAULT);
    CHECK_EQ(fin_readv(fd[0], nowhere, 1), -EFAULT);
    CHECK_EQ(fin_read(fd[0], &c, 1), 1);
    close(fd[0]);
    close(fd[1]);
}

int main(void) {
    if (FIN_SANITIZED || on_valgrind())
        SKIP("sanitizers and valgrind look at memory before the kernel does");
    int fd = nameless_file();
    CHECK_EQ(ftruncate(fd, 1000), 0);
    nowhere = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(nowhere != MAP_FAILED);
    on_file(fd);
    names();
    on_sockets();
    on_pipe();
    close(fd);
    return 0;
}

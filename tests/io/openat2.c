// SPDX-License-Identifier: BSD-2-Clause
// Opening with restrictions of the path; FIFOs, whose other end is not waited for; a struct of another size.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "net.h"

static int dir;

static int open_with(const char *path, uint64_t flags, uint64_t resolve) {
    struct open_how how = {.flags = flags, .mode = flags & O_CREAT ? 0600 : 0, .resolve = resolve};
    return fin_openat2(dir, path, &how, sizeof how);
}

static void restricted(void) {
    int fd = open_with("f", O_RDWR | O_CREAT, RESOLVE_BENEATH);
    CHECK(fd >= 0);
    CHECK_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    CHECK_EQ(fin_write(fd, "x", 1), 1);
    close(fd);
    CHECK_EQ(open_with("../f", O_RDONLY, RESOLVE_BENEATH), -EXDEV);
    CHECK_EQ(open_with("/etc", O_RDONLY, RESOLVE_BENEATH), -EXDEV);
    CHECK_EQ(symlinkat("f", dir, "link"), 0);
    CHECK_EQ(open_with("link", O_RDONLY, RESOLVE_NO_SYMLINKS), -ELOOP);
    CHECK_EQ(open_with("none", O_RDONLY, 0), -ENOENT);
    CHECK_EQ(open_with("f", O_RDONLY, 1u << 30), -EINVAL);
    CHECK_EQ(open_with("f", UINT64_C(1) << 40, 0), -EINVAL);
    CHECK_EQ(open_with((const char *)8, O_RDONLY, 0), -EFAULT);
    fd = open_with("link", O_PATH, 0);
    CHECK(fd >= 0);
    CHECK(fcntl(fd, F_GETFL) & O_PATH);
    close(fd);
    fd = open_with("f", O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}

static void fifo(void) {
    CHECK_EQ(mkfifoat(dir, "fifo", 0600), 0);
    CHECK_EQ(open_with("fifo", O_WRONLY, 0), -ENXIO);
    int fd = open_with("fifo", O_RDONLY, 0);
    CHECK(fd >= 0);
    CHECK_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    close(fd);
}

static void sizes(void) {
    struct {
        struct open_how how;
        uint64_t more;
    } large = {.how = {.flags = O_RDONLY}};
    CHECK_EQ(fin_openat2(dir, "f", &large.how, sizeof large.how - 1), -EINVAL);
    int fd = fin_openat2_nc(dir, "f", &large.how, sizeof large);
    CHECK(fd >= 0);
    CHECK_EQ(large.how.flags, O_RDONLY);
    CHECK_EQ(fin_openat2(fd, "f", &large.how, sizeof large), -ENOTDIR);
    CHECK_EQ(fin_openat2(-1, "f", &large.how, sizeof large), -EBADF);
    close(fd);
    large.more = 1;
    CHECK_EQ(fin_openat2(dir, "f", &large.how, sizeof large), -E2BIG);
    static uint64_t page[65536 / 8 + 1];
    CHECK_EQ(fin_openat2(dir, "f", (struct open_how *)page, (size_t)getpagesize() + 1), -E2BIG);
    fin_finish {
        fin_cancel();
        CHECK_EQ(open_with("never", O_WRONLY | O_CREAT, 0), -ECANCELED);
    }
    CHECK_EQ(faccessat(dir, "never", F_OK, 0), -1);
}

int main(void) {
    char path[] = "/tmp/fin-openat2-XXXXXX";
    if (syscall(SYS_openat2, AT_FDCWD, "/", &(struct open_how){0}, sizeof(struct open_how)) < 0 && errno == ENOSYS)
        SKIP("no openat2 here");
    CHECK(mkdtemp(path) != NULL);
    dir = open(path, O_RDONLY | O_DIRECTORY);
    CHECK(dir >= 0);
    restricted();
    fifo();
    sizes();
    static const char *const made[] = {"f", "link", "fifo"};
    for (int i = 0; i < 3; i++)
        CHECK_EQ(unlinkat(dir, made[i], 0), 0);
    close(dir);
    CHECK_EQ(rmdir(path), 0);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A close that has begun, and that the file system interrupts, has closed the descriptor: it says so, also where it has been
// cancelled meanwhile. Here the file system is a process, and the file its root.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "net.h"

static int flushed[2], go_on[2], fd, closed = 1;

static void answer(int device, uint64_t unique, int error, const void *data, size_t size) {
    struct fuse_out_header head = {.len = (uint32_t)(sizeof head + size), .error = error, .unique = unique};
    struct iovec v[] = {{&head, sizeof head}, {(void *)(uintptr_t)data, size}};
    CHECK(writev(device, v, size ? 2 : 1) == (ssize_t)head.len || errno == ENOENT);
}

static void flush(int device, uint64_t unique) {
    char c = 0;
    CHECK_EQ(write(flushed[1], &c, 1), 1);
    CHECK_EQ(read(go_on[0], &c, 1), 1);
    answer(device, unique, -EINTR, NULL, 0);
}

static void serve(int device) {
    static char room[1 << 17] __attribute__((aligned(8)));
    const struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096};
    const struct fuse_attr_out attributes = {.attr = {.ino = FUSE_ROOT_ID, .mode = S_IFREG | 0600, .nlink = 1}};
    const struct fuse_open_out opened = {.fh = 1};
    const struct fuse_in_header *in = (const struct fuse_in_header *)room;
    while (read(device, room, sizeof room) > 0) {
        if (in->opcode == FUSE_INIT)
            answer(device, in->unique, 0, &init, sizeof init);
        else if (in->opcode == FUSE_GETATTR)
            answer(device, in->unique, 0, &attributes, sizeof attributes);
        else if (in->opcode == FUSE_OPEN)
            answer(device, in->unique, 0, &opened, sizeof opened);
        else if (in->opcode == FUSE_FLUSH)
            flush(device, in->unique);
        else if (in->opcode != FUSE_FORGET && in->opcode != FUSE_INTERRUPT)
            answer(device, in->unique, in->opcode == FUSE_RELEASE ? 0 : -ENOSYS, NULL, 0);
    }
}

// In a namespace of its own, which takes the file system with it at its end.
static pid_t mount_over(const char *path) {
    char options[100];
    int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=100600,user_id=%d,group_id=%d", device, geteuid(), getegid());
    if (device < 0 || unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("fin", path, "fuse", 0, options) != 0)
        return -1;
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); // it has the namespace, too
        serve(device);
        _exit(0);
    }
    close(device);
    return server;
}

int main(void) {
    char path[] = "/tmp/fin-close-XXXXXX", c;
    int mark = mkstemp(path);
    CHECK_EQ(pipe(flushed), 0);
    CHECK_EQ(pipe(go_on), 0);
    alarm(30);
    pid_t server = mount_over(path);
    if (server < 0) {
        unlink(path);
        SKIP("no file system can be mounted");
    }
    fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    if (on_epoll())
        CHECK_EQ(write(go_on[1], "x", 1), 1);
    fin_finish {
        fin_async { closed = fin_close(fd); };
        CHECK_EQ(fin_read(flushed[0], &c, 1), 1);
        fin_cancel();
        if (!on_epoll())
            CHECK_EQ(write(go_on[1], "x", 1), 1);
    }
    CHECK_EQ(closed, 0);
    CHECK_EQ(fcntl(fd, F_GETFD), -1);
    umount2(path, MNT_DETACH);
    unlink(path);
    close(mark);
    kill(server, SIGKILL);
    CHECK_EQ(waitpid(server, NULL, 0), server);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// A file system that is a process, and a file, its root, whose close the test answers: only what has flush() there is closed
// on a thread of the ring.
#ifndef FIN_TESTS_IO_FUSE_H
#define FIN_TESTS_IO_FUSE_H

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

static inline void answer(int device, uint64_t unique, int error, const void *data, size_t size) {
    struct fuse_out_header head = {.len = (uint32_t)(sizeof head + size), .error = error, .unique = unique};
    struct iovec v[] = {{&head, sizeof head}, {(void *)(uintptr_t)data, size}};
    CHECK(writev(device, v, size ? 2 : 1) == (ssize_t)head.len || errno == ENOENT);
}

static inline void serve(int device, int (*flush)(void)) {
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
            answer(device, in->unique, flush(), NULL, 0);
        else if (in->opcode != FUSE_FORGET && in->opcode != FUSE_INTERRUPT)
            answer(device, in->unique, in->opcode == FUSE_RELEASE ? 0 : -ENOSYS, NULL, 0);
    }
}

// In a namespace of its own, which takes the file system with it at its end. `flush` runs in the server, and returns what
// the close says. -1: nothing can be mounted.
static inline pid_t mount_over(const char *path, int (*flush)(void)) {
    char options[100];
    int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=100600,user_id=%d,group_id=%d", device, geteuid(), getegid());
    if (device < 0 || unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("fin", path, "fuse", 0, options) != 0)
        return -1;
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); // it has the namespace, too
        serve(device, flush);
        _exit(0);
    }
    close(device);
    return server;
}

static inline void unmount(const char *path, pid_t server) {
    umount2(path, MNT_DETACH);
    unlink(path);
    kill(server, SIGKILL);
    CHECK_EQ(waitpid(server, NULL, 0), server);
}

#endif

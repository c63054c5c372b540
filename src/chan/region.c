// SPDX-License-Identifier: BSD-2-Clause
// Shared memory that is safe to touch whatever the other process does, and regions for more than messages hold.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "chan/chan.h"
#include "descriptors.h"
#include "file_limit.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 16
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

int fin_chan_memory_new(size_t size) {
    int error = fin_file_limit(size);
    if (error != 0)
        return error;
    int fd = memfd_create("fin-chan", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("fin-chan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)size) != 0 || fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) != 0) {
        error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

// It is no such memory, or a filter denies to ask.
static int refused(void) { return fin_host_denied(-errno) ? -errno : -EPROTO; }

// Only memory of this kind never ends early, has pages for all of its size and needs nobody's help to be read. What cannot
// be written is of no use.
int fin_chan_memory_check(int fd, size_t size) {
    struct statfs fs;
    struct stat s;
    int seals = fcntl(fd, F_GET_SEALS), flags = fcntl(fd, F_GETFL);
    if (seals < 0 || flags < 0)
        return refused();
    if (!(seals & F_SEAL_SHRINK) || seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE) || (flags & O_ACCMODE) != O_RDWR)
        return -EPROTO;
    if (fstatfs(fd, &fs) != 0 || fstat(fd, &s) != 0)
        return refused();
    return fs.f_type == TMPFS_MAGIC && s.st_size >= 0 && (uint64_t)s.st_size >= size ? 0 : -EPROTO;
}

static int map_region(struct fin_chan_region *r, int fd, size_t size) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return errno == EPERM || errno == EACCES ? -EPROTO : -ENOMEM;
    *r = (struct fin_chan_region){p, size, fd};
    return 0;
}

int fin_chan_region_make(struct fin_chan_region *r, size_t size) {
    if (size == 0 || size > (size_t)1 << 46)
        return -EINVAL;
    int fd = fin_chan_memory_new(size);
    int error = fd < 0 ? fd : map_region(r, fd, size);
    if (error != 0 && fd >= 0)
        close(fd);
    return error;
}

int fin_chan_region_map(struct fin_chan_region *r, int fd, size_t size) {
    int error = size == 0 ? -EINVAL : fin_chan_memory_check(fd, size);
    if (error == 0)
        error = map_region(r, fd, size);
    if (error != 0)
        fin_close_stranger(fd);
    return error;
}

void fin_chan_region_end(struct fin_chan_region *r) {
    munmap(r->data, r->size);
    close(r->fd);
}

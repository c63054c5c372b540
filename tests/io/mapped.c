// SPDX-License-Identifier: BSD-2-Clause
// Mapped memory: advice about it, of any length; its file, and a file system, written back.
#define _GNU_SOURCE
#include <sys/mman.h>

#include "net.h"

int main(void) {
    size_t huge = (size_t)5 << (on_valgrind() ? 20 : 30), page = (size_t)sysconf(_SC_PAGESIZE); // it notes each byte
    int fd = memfd_create("fin-mapped", MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQ(ftruncate(fd, (off_t)(4 * page)), 0);
    char *p = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(p != MAP_FAILED);
    memset(p, 1, 4 * page);
    CHECK_EQ(fin_madvise(p, 4 * page, MADV_WILLNEED), 0);
    CHECK_EQ(fin_madvise(p, 0, MADV_NORMAL), 0);
    CHECK_EQ(fin_madvise(p + 1, page, MADV_NORMAL), -EINVAL);
    CHECK_EQ(fin_madvise(p, page, 777), -EINVAL);
    CHECK_EQ(fin_msync(p, 4 * page, MS_SYNC), 0);
    CHECK_EQ(fin_msync_nc(p, page, MS_SYNC | MS_ASYNC), -EINVAL);
    CHECK_EQ(fin_syncfs(fd), 0);
    CHECK_EQ(fin_syncfs_nc(-1), -EBADF);
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_madvise(p, page, MADV_REMOVE), -ECANCELED);
        CHECK_EQ(fin_msync(p, page, MS_SYNC), -ECANCELED);
        CHECK_EQ(p[0], 1);
        CHECK_EQ(fin_madvise_nc(p, page, MADV_REMOVE), 0);
    }
    CHECK_EQ(p[0], 0);
    CHECK_EQ(p[page], 1);
    CHECK_EQ(munmap(p, 4 * page), 0);
    if (!on_valgrind()) // which looks first
        CHECK_EQ(fin_msync(p, page, MS_SYNC), -ENOMEM);
    close(fd);
    // longer than an entry of a ring has bits for: the last page is concerned, too
    p = mmap(NULL, huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        SKIP("no address space for as much");
    p[huge - 1] = 1;
    CHECK_EQ(fin_madvise(p, huge, MADV_DONTNEED), 0);
    CHECK_EQ(p[huge - 1], 0);
    return 0;
}
